import test from 'ava'
import { account } from '../../domain/account.js'
import { ConsentHost, consentOnArrival } from '../../domain/consent.js'
import { fold } from '../../domain/decider.js'
import { stepMessageIdOf } from '../../domain/derived-id.js'
import { engagement, type EngagementCommand, type EngagementEvent } from '../../domain/engagement.js'
import { E } from '../../domain/prelude.js'
import {
  accountId,
  activity,
  apiKeyId,
  at,
  attribution,
  conversionId,
  engagementId,
  playbookId,
} from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const minute = 60_000
const day = 24 * 60 * minute

const consentAt = (tcpa_opt_in_url: string) => ({ tcpa_opt_in_url })

test('any host is accepted until an account says which', (t) => {
  t.is(consentOnArrival(consentAt('http://anything.example/1'), null, false), undefined)
  t.is(consentOnArrival(consentAt('http://anything.example/1'), null, true), 'awaited')
})

test('a consent of another host than those that the account accepts is refused, and no service is asked', (t) => {
  const hosts = ['cert.example.com', 'xn--bcher-kva.example']
  for (const url of [
    'https://cert.example.com/1',
    'http://CERT.example.com:8443/a?b',
    'https://bücher.example/',
    'https://cert.example.com./1',
  ]) {
    t.is(consentOnArrival(consentAt(url), hosts, false), undefined, url)
    t.is(consentOnArrival(consentAt(url), ['cert.example.com.', 'xn--bcher-kva.example'], false), undefined, url)
  }
  for (const url of [
    'https://example.com/',
    'https://a.cert.example.com/',
    'https://cert.example.com.evil.example/',
    'https://cert.example.com@evil.example/',
    'https://evil.example/cert.example.com',
  ])
    t.is(consentOnArrival(consentAt(url), hosts, true), 'refused', url)
})

test('a host is taken as URLs spell it, and nothing else passes for one', (t) => {
  const hostIn = (text: unknown) => E.getOrElse((): string | undefined => undefined)(ConsentHost.decode(text))
  t.is(hostIn(' Cert.Example.COM '), 'cert.example.com')
  t.is(hostIn('bücher.example'), 'xn--bcher-kva.example')
  t.is(hostIn('cert.example.com.'), 'cert.example.com')
  for (const text of [
    '',
    ' ',
    'https://cert.example.com',
    'cert.example.com/1',
    'a@b.example',
    'a:80',
    '*.example',
    '.',
    7,
    null,
  ])
    t.is(hostIn(text), undefined, String(text))
})

test('an account accepts hosts, and may accept any again', (t) => {
  const opened = {
    type: 'AccountOpened',
    data: {
      ...{ account_id: accountId(), title: 'Example Agency', sealed_secret: 'sealed', playbook_id: playbookId() },
      ...{ quoted_id: conversionId(1), sold_id: conversionId(2) },
    },
  } as const
  const issued = {
    type: 'ApiKeyIssued',
    data: { api_key_id: apiKeyId(), secret_hash: 'hash', limit_per_minute: null },
  } as const
  const accept = (hosts: ReadonlyArray<string> | null) => ({ type: 'AcceptConsentHosts', hosts }) as const
  const accepted = (hosts: ReadonlyArray<string> | null) => ({ type: 'ConsentHostsAccepted', data: { hosts } }) as const
  given(t, account, opened, issued).when(accept(null)).isAlreadySo()
  given(t, account, opened, issued)
    .when(accept(['cert.example.com']))
    .then(accepted(['cert.example.com']))
  given(t, account, opened, issued, accepted(['cert.example.com']))
    .when(accept(['cert.example.com']))
    .isAlreadySo()
  given(t, account, opened, issued, accepted(['cert.example.com']))
    .when(accept(null))
    .then(accepted(null))
})

const followUp = (consent: 'awaited' | 'refused') => ({ playbook_version: 1, first_step_at: at(), consent })
const started: EngagementEvent = {
  type: 'EngagementStarted',
  data: { ...attribution(), submitted_at: at(), follow_up: followUp('awaited') },
}
const begin = {
  type: 'BeginStep',
  step: 0,
  attempt: 1,
  messageId: stepMessageIdOf(engagementId(), 0),
  at: at(),
} as const
const verified: EngagementEvent = { type: 'ConsentVerified', data: { engagement_id: engagementId() } }
const fails = (check: number, when: number) =>
  ({ type: 'RecordFailedConsentCheck', check, reason: 'status 503', at: at(when) }) as const
const failed = (check: number, when: number, next: number): EngagementEvent => ({
  type: 'ConsentCheckFailed',
  data: {
    ...{ engagement_id: engagementId(), check, reason: 'status 503' },
    ...{ failed_at: at(when), next_check_at: at(next) },
  },
})
const filtered = (note: string, when: number): readonly [EngagementEvent, EngagementEvent] => [
  {
    type: 'ActivityRecorded',
    data: { activity: activity({ type: 'outcome', label: 'filtered', note, at: at(when) }), record_id: null },
  },
  { type: 'EngagementEnded', data: { engagement_id: engagementId(), reason: 'filtered', ended_at: at(when) } },
]

test('a lead whose consent is refused as it comes fires started, then filtered', (t) => {
  const start: EngagementCommand = {
    type: 'StartEngagement',
    ...{ attribution: attribution(), submittedAt: at(), engagedAt: at(), filtered: false },
    followUp: followUp('refused'),
  }
  given(t, engagement)
    .when(start)
    .then(
      { ...started, data: { ...started.data, follow_up: followUp('refused') } },
      {
        type: 'ActivityRecorded',
        data: { activity: activity({ label: 'started', note: 'The playbook started', at: at() }), record_id: null },
      },
      ...filtered('The URL of the consent is of no host that the account accepts', 1),
    )
})

test('no message is begun before its consent is verified, and that is recorded once', (t) => {
  given(t, engagement, started).when(begin).refuses('step-not-due')
  given(t, engagement, started).when({ type: 'VerifyConsent' }).then(verified)
  given(t, engagement, started, verified).when({ type: 'VerifyConsent' }).isAlreadySo()
  const { step, attempt, messageId: message_id } = begin
  given(t, engagement, started, verified)
    .when(begin)
    .then({ type: 'StepBegun', data: { engagement_id: engagementId(), step, attempt, message_id } })
})

test('the consent of a playbook without steps is checked for what a member writes, and nothing is ever begun', (t) => {
  const data = { ...attribution(), submitted_at: at(), awaits_consent: true } as const
  const silent: EngagementEvent = { type: 'EngagementStarted', data }
  given(t, engagement, silent).when({ type: 'VerifyConsent' }).then(verified)
  given(t, engagement, silent, verified).when({ type: 'VerifyConsent' }).isAlreadySo()
  given(t, engagement, silent, verified).when(begin).refuses('step-not-due')
  const once = failed(1, 0, minute)
  given(t, engagement, silent).when(fails(1, 0)).then(once)
  given(t, engagement, silent, once)
    .when(fails(2, day))
    .then(...filtered('The consent could not be verified within a day', day))
})

test('a check that failed is repeated later and later, and nothing is sent meanwhile', (t) => {
  given(t, engagement, started)
    .when(fails(1, 0))
    .then(failed(1, 0, minute))
  const once = failed(1, 0, minute)
  given(t, engagement, started, once).when(begin).refuses('step-not-due')
  given(t, engagement, started, once).when(fails(1, 0)).isAlreadySo()
  given(t, engagement, started, once)
    .when(fails(2, minute))
    .then(failed(2, minute, 3 * minute))
  given(t, engagement, started, once).when({ type: 'VerifyConsent' }).then(verified)
})

test('after a day without an answer there is one more check, and the lead is filtered', (t) => {
  const before = failed(1, 0, minute)
  given(t, engagement, started, before)
    .when(fails(2, day - 1))
    .then(failed(2, day - 1, day))
  given(t, engagement, started, before)
    .when(fails(2, day))
    .then(...filtered('The consent could not be verified within a day', day))
})

test('while nobody checks for a day or longer no outage is seen: of steps and of what a member writes it goes on with the next check', (t) => {
  const once = failed(1, 0, minute)
  const data = { ...attribution(), submitted_at: at(), awaits_consent: true } as const
  for (const begun of [started, { type: 'EngagementStarted', data } as const]) {
    given(t, engagement, begun, once)
      .when(fails(2, day + minute))
      .then(failed(2, day + minute, day + 3 * minute))
    const again = failed(2, 5 * day, 5 * day + 2 * minute)
    // Before there was a minute of it.
    const end = 6 * day - minute
    given(t, engagement, begun, once, again)
      .when(fails(3, end - 1))
      .then(failed(3, end - 1, end))
    given(t, engagement, begun, once, again)
      .when(fails(3, end))
      .then(...filtered('The consent could not be verified within a day', end))
  }
})

test('a day of checks, each when it is due, is a check an hour at most', (t) => {
  const checked: Array<EngagementEvent> = [started]
  for (let when = at(), check = 1; ; check += 1) {
    const state = fold(engagement, engagement.initial, checked)
    const decided = engagement.decide(
      { type: 'RecordFailedConsentCheck', check, reason: 'status 503', at: when },
      state,
    )
    const [event] = E.getOrElse((): ReadonlyArray<EngagementEvent> => [])(decided)
    if (event?.type !== 'ConsentCheckFailed') break
    checked.push(event)
    when = event.data.next_check_at
  }
  t.is(checked.length - 1, 29)
})
