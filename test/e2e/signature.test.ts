import test from 'ava'
import { Webhook } from 'standardwebhooks'
import { having, type Managed } from '../kit/network/http.js'
import type { Received } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { subscribed } from '../kit/service/subscription.js'

const site = serviceForFile()

const secretOf = ({ signing_secret }: Managed): string => String(signing_secret)

/** What the published library makes of a request; throws where the signature is not good. */
const verified = (secret: string, { body, headers }: Received): unknown =>
  new Webhook(secret).verify(body.toString('utf8'), headers as Record<string, string>)

test('a request is signed with the secret that was shown when its webhook was added', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site)
  t.regex(secretOf(webhook), /^whsec_[A-Za-z0-9+/]{43}=$/)
  await account.submitted()
  const [request] = await receiver.received(1)
  if (request === undefined) return t.fail()
  t.like(verified(secretOf(webhook), request), { activity: { label: 'started' } })
  t.throws(() => verified(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, request))
  t.throws(() => verified(secretOf(webhook), { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }))
  const other = { ...request, headers: { ...request.headers, 'webhook-id': 'another' } }
  t.throws(() => verified(secretOf(webhook), other))
})

test('a new secret signs at once, and the one before it beside it', async (t) => {
  const { account, receiver, webhook } = await subscribed(t, site)
  const rotated = await account.manage('POST', `/webhooks/${webhook.id}/signing_secret`)
  t.is(rotated.status, 201)
  const changed = having(rotated, 'webhook')
  t.not(secretOf(changed), secretOf(webhook))
  t.true(Date.parse(String(changed['previous_until'])) > Date.now() + 23 * 60 * 60 * 1000)
  await account.submitted()
  const [request] = await receiver.received(1)
  if (request === undefined) return t.fail()
  t.is(String(request.headers['webhook-signature']).split(' ').length, 2)
  for (const secret of [secretOf(changed), secretOf(webhook)]) {
    t.like(verified(secret, request), { activity: { label: 'started' } })
  }
})

test('a secret is shown once, and only its own account can issue another', async (t) => {
  const { account, webhook } = await subscribed(t, site)
  const listed = await account.manage('GET', '/webhooks')
  t.is(listed.status, 200)
  t.false(listed.text.includes('whsec_'))
  const other = await openAccount(site)
  t.is((await other.manage('POST', `/webhooks/${webhook.id}/signing_secret`)).status, 404)
  t.is((await account.manage('POST', '/webhooks/whk_unknown/signing_secret')).status, 404)
})
