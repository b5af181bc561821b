import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import { conversionList } from '../../../projections/read-models/lists/conversion-list.js'
import { playbookList } from '../../../projections/read-models/lists/playbook-list.js'
import { anyProjection } from '../../../projections/projection.js'
import { sourceList } from '../../../projections/read-models/lists/source-list.js'
import { webhookList } from '../../../projections/read-models/lists/webhook-list.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import {
  accountId,
  at,
  conversionId,
  deliveryId,
  playbookId,
  sourceId,
  webhookId,
  webhookSettings,
} from '../../kit/domain/samples.js'

test('the conversion list shows each definition as it was made', (t) => {
  const defined = (n: number, title: string, value: number): DomainEvent => ({
    type: 'ConversionDefined',
    data: {
      conversion_id: conversionId(n),
      account_id: accountId(),
      title,
      value,
      label: n === 1 ? 'quoted' : 'custom_conversion',
    },
  })
  const log = logOf(
    [`conversion-${conversionId(1)}`, defined(1, 'Quoted', 0)],
    [`conversion-${conversionId(2)}`, defined(2, 'Renewed', 4900)],
  )
  const account_id = accountId()
  t.deepEqual(project(anyProjection(conversionList), log), {
    [conversionId(1)]: {
      account_id,
      id: conversionId(1),
      title: 'Quoted',
      value: 0,
      label: 'quoted',
      created_at: at(1000),
    },
    [conversionId(2)]: {
      account_id,
      id: conversionId(2),
      title: 'Renewed',
      value: 4900,
      label: 'custom_conversion',
      created_at: at(2000),
    },
  })
})

test('the playbook list shows the settings of today and the time of creation', (t) => {
  const settings = { ...defaultSettings, title: 'Short', required_fields: ['email'] }
  const stream = `playbook-${playbookId()}`
  const created = { playbook_id: playbookId(), account_id: accountId(), settings: defaultSettings }
  const log = logOf(
    [stream, { type: 'PlaybookCreated', data: created }],
    [stream, { type: 'PlaybookChanged', data: { settings } }],
  )
  t.deepEqual(project(anyProjection(playbookList), log), {
    [playbookId()]: { account_id: accountId(), id: playbookId(), ...settings, created_at: at(1000) },
  })
})

test('the source list shows whether a source is suspended and what its limit is', (t) => {
  const stream = `marketing_source-${sourceId()}`
  const created: DomainEvent = {
    type: 'MarketingSourceCreated',
    data: {
      source_id: sourceId(),
      account_id: accountId(),
      title: 'Search ads',
      playbook_id: playbookId(),
      originator_field: 'crm_id',
    },
  }
  const events: ReadonlyArray<DomainEvent> = [
    created,
    { type: 'MarketingSourceSuspended', data: {} },
    { type: 'MarketingSourceLimited', data: { limit_per_minute: 30 } },
    { type: 'MarketingSourceResumed', data: {} },
    { type: 'MarketingSourceLimited', data: { limit_per_minute: null } },
  ]
  const after = (count: number) =>
    project(anyProjection(sourceList), logOf(...events.slice(0, count).map((event) => [stream, event] as const)))
  const document = {
    account_id: accountId(),
    id: sourceId(),
    title: 'Search ads',
    playbook_id: playbookId(),
    originator_field: 'crm_id',
    suspended: false,
    limit_per_minute: null,
    created_at: at(1000),
  }
  t.deepEqual(after(1), { [sourceId()]: document })
  t.deepEqual(after(3), { [sourceId()]: { ...document, suspended: true, limit_per_minute: 30 } })
  t.deepEqual(after(5), { [sourceId()]: document })
})

const webhooksAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(webhookList), logOf(...events.map((event) => [`webhook-${webhookId()}`, event] as const)))

const added: DomainEvent = {
  type: 'WebhookAdded',
  data: { webhook_id: webhookId(), account_id: accountId(), settings: webhookSettings({ events: ['sold'] }) },
}

const webhookDocument = {
  account_id: accountId(),
  id: webhookId(),
  url: 'https://receiver.example/hook',
  events: ['sold'],
  format: 'agent',
  playbook_id: null,
  state: 'on',
  turned_off: null,
  turned_on: null,
  version: 1,
  created_at: at(1000),
}

test('the webhook list shows a webhook without its token', (t) => {
  t.deepEqual(webhooksAfter(added), { [webhookId()]: webhookDocument })
})

test('a changed webhook shows its new settings, still without the token', (t) => {
  const settings = webhookSettings({ url: 'https://new.example', sealed_token: 'other', format: 'flat' })
  const documents = webhooksAfter(added, { type: 'WebhookChanged', data: { settings } })
  t.deepEqual(documents, {
    [webhookId()]: { ...webhookDocument, url: 'https://new.example', events: [], format: 'flat', version: 2 },
  })
})

test('a webhook that was turned off says when and why', (t) => {
  const documents = webhooksAfter(added, {
    type: 'WebhookTurnedOff',
    data: { delivery_id: deliveryId(), reason: 'HTTP 503' },
  })
  const turned_off = { at: at(2000), reason: 'HTTP 503', failing_since: null, delivery_id: deliveryId() }
  t.deepEqual(documents, { [webhookId()]: { ...webhookDocument, state: 'off', turned_off, version: 2 } })
})

test('a removed webhook is not in the list', (t) => {
  t.deepEqual(webhooksAfter(added, { type: 'WebhookRemoved', data: {} }), {})
})
