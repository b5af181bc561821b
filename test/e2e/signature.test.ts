import test, { type ExecutionContext } from 'ava'
import { Webhook } from 'standardwebhooks'
import { having, openAccount, serviceForFile, type Account } from '../kit/service/service.js'
import { openReceiver, type Received, type Receiver } from '../kit/network/receiver.js'

const site = serviceForFile()

type Signed = { readonly id: string; readonly signing_secret?: string; readonly previous_until?: string }

const withWebhook = async (t: ExecutionContext): Promise<{ account: Account; receiver: Receiver; webhook: Signed }> => {
  const [account, receiver] = await Promise.all([openAccount(site), openReceiver()])
  t.teardown(receiver.close)
  const added = await account.manage('POST', '/webhooks', { url: receiver.url, token: 'hook-token' })
  return { account, receiver, webhook: having(added, 'webhook') }
}

/** What the published library makes of a request; throws where the signature is not good. */
const verified = (secret: string | undefined, { body, headers }: Received): unknown =>
  new Webhook(secret ?? '').verify(body.toString('utf8'), headers as Record<string, string>)

test('a request is signed with the secret that was shown when its webhook was added', async (t) => {
  const { account, receiver, webhook } = await withWebhook(t)
  t.regex(webhook.signing_secret ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/)
  await account.submitted()
  const [request] = await receiver.received(1)
  if (request === undefined) return t.fail()
  t.like(verified(webhook.signing_secret, request), { activity: { label: 'started' } })
  t.throws(() => verified(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, request))
  t.throws(() =>
    verified(webhook.signing_secret, { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }),
  )
  const other = { ...request, headers: { ...request.headers, 'webhook-id': 'another' } }
  t.throws(() => verified(webhook.signing_secret, other))
})

test('a new secret signs at once, and the one before it beside it', async (t) => {
  const { account, receiver, webhook } = await withWebhook(t)
  const rotated = await account.manage('POST', `/webhooks/${webhook.id}/signing_secret`)
  t.is(rotated.status, 201)
  const { signing_secret, previous_until } = having(rotated, 'webhook') as Signed
  t.not(signing_secret, webhook.signing_secret)
  t.true(Date.parse(previous_until ?? '') > Date.now() + 23 * 60 * 60 * 1000)
  await account.submitted()
  const [request] = await receiver.received(1)
  if (request === undefined) return t.fail()
  t.is(String(request.headers['webhook-signature']).split(' ').length, 2)
  for (const secret of [signing_secret, webhook.signing_secret]) {
    t.like(verified(secret, request), { activity: { label: 'started' } })
  }
})

test('a secret is shown once, and only its own account can issue another', async (t) => {
  const { account, webhook } = await withWebhook(t)
  const listed = await account.manage('GET', '/webhooks')
  t.is(listed.status, 200)
  t.false(listed.text.includes('whsec_'))
  const other = await openAccount(site)
  t.is((await other.manage('POST', `/webhooks/${webhook.id}/signing_secret`)).status, 404)
  t.is((await account.manage('POST', '/webhooks/whk_unknown/signing_secret')).status, 404)
})
