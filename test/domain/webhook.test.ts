import test from 'ava'
import { signingSecretsAt, webhook, type WebhookCommand, type WebhookEvent } from '../../domain/webhook.js'
import { accountId, at, deliveryId, webhookId, webhookSettings } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const add: WebhookCommand = {
  type: 'AddWebhook',
  webhookId: webhookId(),
  accountId: accountId(),
  settings: webhookSettings(),
}

const added: WebhookEvent = {
  type: 'WebhookAdded',
  data: { webhook_id: webhookId(), account_id: accountId(), settings: webhookSettings() },
}

const turnOff = {
  type: 'TurnOffWebhook',
  deliveryId: deliveryId(),
  reason: 'HTTP 500',
  failingSince: undefined,
  version: 1,
} as const
const turnedOff: WebhookEvent = { type: 'WebhookTurnedOff', data: { delivery_id: deliveryId(), reason: 'HTTP 500' } }
const removed: WebhookEvent = { type: 'WebhookRemoved', data: {} }

const change = (n = 1): WebhookCommand => ({
  type: 'ChangeWebhook',
  accountId: accountId(n),
  settings: { events: ['sold'], format: 'flat' },
})
const remove = (n = 1): WebhookCommand => ({ type: 'RemoveWebhook', accountId: accountId(n) })

test('a webhook is added once', (t) => {
  given(t, webhook).when(add).then(added)
  given(t, webhook, added).when(add).isAlreadySo()
})

const signing = (n: number) => ({ sealed: `sealed ${n}`, previousUntil: at(n * 1000) })
const issue = (n: number, of = 1): WebhookCommand => ({
  type: 'IssueSigningSecret',
  accountId: accountId(of),
  signing: signing(n),
})
const issued = (n: number): WebhookEvent => ({
  type: 'WebhookSigningSecretIssued',
  data: { sealed_secret: `sealed ${n}`, previous_until: at(n * 1000) },
})

test('a webhook may be added with the secret that signs', (t) => {
  given(t, webhook)
    .when({ ...add, signing: signing(1) })
    .then(added, issued(1))
})

test('a new secret may be issued by its account, whether the webhook is on or off', (t) => {
  given(t, webhook, added).when(issue(1)).then(issued(1))
  given(t, webhook, added, issued(1)).when(issue(1)).isAlreadySo()
  given(t, webhook, added, issued(1), turnedOff).when(issue(2)).then(issued(2))
  given(t, webhook, added).when(issue(1, 2)).refuses('webhook-not-found')
  given(t, webhook, added, removed).when(issue(1)).refuses('webhook-not-found')
})

test('the newest secret signs, and the one before it until its time is over', (t) => {
  const state = [added, issued(1), issued(2), issued(3)].reduce(webhook.evolve, webhook.initial)
  if (state.kind !== 'on') return t.fail()
  t.deepEqual(signingSecretsAt(state.signingSecrets, at(2999)), ['sealed 3', 'sealed 2'])
  t.deepEqual(signingSecretsAt(state.signingSecrets, at(3000)), ['sealed 3'])
  t.deepEqual(signingSecretsAt([], at(0)), [])
})

test('a removed webhook does not come back', (t) => {
  given(t, webhook, added, removed).when(add).isAlreadySo()
})

test('a change leaves every setting that it does not name, the token too', (t) => {
  given(t, webhook, added)
    .when(change())
    .then({
      type: 'WebhookChanged',
      data: { settings: webhookSettings({ events: ['sold'], format: 'flat' }) },
    })
})

test('a webhook is turned off once', (t) => {
  given(t, webhook, added).when(turnOff).then(turnedOff)
  given(t, webhook, added, turnedOff)
    .when({ ...turnOff, deliveryId: deliveryId(2) })
    .isAlreadySo()
})

test('a webhook that is off can be changed and removed, and a change does not turn it on', (t) => {
  const changed: WebhookEvent = {
    type: 'WebhookChanged',
    data: { settings: webhookSettings({ events: ['sold'], format: 'flat' }) },
  }
  given(t, webhook, added, turnedOff).when(change()).then(changed)
  given(t, webhook, added, turnedOff, changed).when(turnOff).isAlreadySo()
  given(t, webhook, added, turnedOff).when(remove()).then(removed)
})

test('a removed webhook is not found', (t) => {
  given(t, webhook, added).when(remove()).then(removed)
  for (const command of [change(), remove()]) {
    given(t, webhook, added, removed).when(command).refuses('webhook-not-found')
  }
  given(t, webhook, added, removed).when(turnOff).isAlreadySo()
})

test('the webhook of another account is not found, like one that is missing', (t) => {
  for (const command of [change(2), remove(2)]) {
    given(t, webhook).when(command).refuses('webhook-not-found')
    given(t, webhook, added).when(command).refuses('webhook-not-found')
  }
  given(t, webhook).when(turnOff).refuses('webhook-not-found')
})

const turnOn = (catchUp = true): WebhookCommand => ({
  type: 'TurnOnWebhook',
  accountId: accountId(),
  catchUp,
  by: 'operator',
})
const turnedOn = (catch_up = true): WebhookEvent => ({ type: 'WebhookTurnedOn', data: { catch_up, by: 'operator' } })

test('a webhook that is off is turned on once, with what becomes of what it missed and who chose it', (t) => {
  given(t, webhook, added, turnedOff).when(turnOn()).then(turnedOn())
  given(t, webhook, added, turnedOff).when(turnOn(false)).then(turnedOn(false))
  given(t, webhook, added, turnedOff, turnedOn()).when(turnOn(false)).isAlreadySo()
  given(t, webhook, added).when(turnOn()).isAlreadySo()
  given(t, webhook, added, turnedOff, removed).when(turnOn()).refuses('webhook-not-found')
  given(t, webhook, added, turnedOff)
    .when({ type: 'TurnOnWebhook', accountId: accountId(2), catchUp: true, by: 'operator' })
    .refuses('webhook-not-found')
})

test('what failed before a webhook was turned on does not turn it off again', (t) => {
  const on = [added, turnedOff, turnedOn()]
  for (const version of [undefined, 1, 2]) {
    given(t, webhook, ...on)
      .when({ ...turnOff, version })
      .isAlreadySo()
  }
  given(t, webhook, ...on)
    .when({ ...turnOff, version: 3 })
    .then(turnedOff)
  given(t, webhook, added)
    .when({ ...turnOff, version: undefined })
    .then(turnedOff)
})

test('a webhook that is turned off says since when the delivery failed, where that is known', (t) => {
  const failing_since = at(5)
  given(t, webhook, added)
    .when({ ...turnOff, failingSince: at(5) })
    .then({ type: 'WebhookTurnedOff', data: { delivery_id: deliveryId(), reason: 'HTTP 500', failing_since } })
})

test('the version counts the events of the stream', (t) => {
  const events = [added, issued(1), turnedOff, turnedOn()]
  const versions = events.map((_, n) => events.slice(0, n + 1).reduce(webhook.evolve, webhook.initial))
  t.deepEqual(
    versions.map((state) => 'version' in state && state.version),
    [1, 2, 3, 4],
  )
})
