import test from 'ava'
import {
  marketingSource,
  type MarketingSourceCommand,
  type MarketingSourceEvent,
} from '../../domain/marketing-source.js'
import { accountId, playbookId, sourceId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const create = {
  type: 'CreateSource',
  sourceId: sourceId(),
  accountId: accountId(),
  title: 'Search ads',
  playbookId: playbookId(),
  originatorField: 'crm_id',
} as const

const created: MarketingSourceEvent = {
  type: 'MarketingSourceCreated',
  data: {
    source_id: sourceId(),
    account_id: accountId(),
    title: 'Search ads',
    playbook_id: playbookId(),
    originator_field: 'crm_id',
  },
}

const suspended: MarketingSourceEvent = { type: 'MarketingSourceSuspended', data: {} }
const resumed: MarketingSourceEvent = { type: 'MarketingSourceResumed', data: {} }
const limited: MarketingSourceEvent = { type: 'MarketingSourceLimited', data: { limit_per_minute: 30 } }

const suspend = (n = 1): MarketingSourceCommand => ({ type: 'SuspendSource', accountId: accountId(n) })
const resume = (n = 1): MarketingSourceCommand => ({ type: 'ResumeSource', accountId: accountId(n) })
const limit = (limitPerMinute: number | null, n = 1): MarketingSourceCommand => ({
  type: 'LimitSource',
  accountId: accountId(n),
  limitPerMinute,
})

test('a source is created once', (t) => {
  given(t, marketingSource).when(create).then(created)
  given(t, marketingSource, created).when(create).isAlreadySo()
})

test('a source is suspended once and resumed once', (t) => {
  given(t, marketingSource, created).when(suspend()).then(suspended)
  given(t, marketingSource, created, suspended).when(suspend()).isAlreadySo()
  given(t, marketingSource, created, suspended).when(resume()).then(resumed)
  given(t, marketingSource, created).when(resume()).isAlreadySo()
})

test('a limit is set, and lifted with null', (t) => {
  given(t, marketingSource, created).when(limit(30)).then(limited)
  given(t, marketingSource, created, limited).when(limit(30)).isAlreadySo()
  given(t, marketingSource, created, limited)
    .when(limit(null))
    .then({ type: 'MarketingSourceLimited', data: { limit_per_minute: null } })
  given(t, marketingSource, created).when(limit(null)).isAlreadySo()
})

test('the source of another account is not found, like one that is missing', (t) => {
  for (const command of [suspend(2), resume(2), limit(30, 2)]) {
    given(t, marketingSource).when(command).refuses('source-not-found')
    given(t, marketingSource, created).when(command).refuses('source-not-found')
  }
})
