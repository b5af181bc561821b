import test, { type ExecutionContext } from 'ava'
import { having } from '../kit/network/http.js'
import { openReceiver, payloadOf, type Received, type Receiver } from '../kit/network/receiver.js'
import { openDataDirectory } from '../kit/service/data-directory.js'
import { openService, type Service } from '../kit/service/in-process-service.js'
import { newPhone } from '../kit/service/leads.js'
import { subscribed, type Subscription } from '../kit/service/subscription.js'
import { until } from '../kit/time/until.js'

/** In one a minute is a sixteenth of a second, in the other a day is less than a second. */
type Open = { readonly service: Service; readonly hasty: Service; readonly verifier: Receiver }

const directories = [openDataDirectory(), openDataDirectory()] as const
let open: Open | undefined

const opened = (): Open => {
  if (open === undefined) throw new Error('the service runs inside tests only')
  return open
}

type Asked = { readonly token: string; readonly url: string; readonly phone: string; readonly email: string }

const askedIn = ({ body }: Received): Asked => JSON.parse(body.toString()) as Asked

const askedFor = (token: string): ReadonlyArray<Asked> =>
  opened()
    .verifier.requests.map(askedIn)
    .filter((asked) => asked.token === token)

/** What the service of consents says of a token that it is asked for so many times. */
const answers: Readonly<Record<string, (times: number) => readonly [number, string]>> = {
  genuine: () => [200, '{"verified":true}'],
  'genuine too': () => [200, '{"verified":true}'],
  expired: () => [200, '{"verified":false,"reason":"Token of Ada <ada@example.com> expired"}'],
  'down at first': (times) => (times <= 3 ? [503, ''] : [200, '{"verified":true}']),
  'down at first for a member': (times) => (times <= 3 ? [503, ''] : [200, '{"verified":true}']),
  'down for ever': () => [200, 'Bad gateway'],
  'genuine by hand': () => [200, '{"verified":true}'],
  'expired by hand': () => [200, '{"verified":false,"reason":"Token of Ada <ada@example.com> expired"}'],
  'down at first by hand': (times) => (times <= 3 ? [503, ''] : [200, '{"verified":true}']),
  'down for ever by hand': () => [503, ''],
}

test.before(async () => {
  const verifier = await openReceiver()
  verifier.answer((n, response) => {
    const request = verifier.requests[n - 1]
    const { token } = request === undefined ? { token: '' } : askedIn(request)
    const [status, body] = answers[token]?.(askedFor(token).length) ?? [404, '']
    response.writeHead(status).end(body)
    return undefined
  })
  const [directory, other] = directories
  const consentVerifierUrl = verifier.url
  const service = await openService(directory.path, { clockRate: 1_000, consentVerifierUrl })
  open = { verifier, service, hasty: await openService(other.path, { clockRate: 100_000, consentVerifierUrl }) }
})

test.after.always(async () => {
  await open?.service.stop()
  await open?.hasty.stop()
  await open?.verifier.close()
  for (const { remove } of directories) await remove()
})

const settings = {
  steps: [{ message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }],
  quiet_hours: null,
  give_up_after_minutes: 100_000,
}

const following = async (
  t: ExecutionContext,
  changed: object = {},
  site: Service = opened().service,
): Promise<Subscription> => {
  const subscription = await subscribed(t, site)
  const { account } = subscription
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { ...settings, ...changed })
  return subscription
}

const lead = (token: string) => ({ first_name: 'Ada', phone: newPhone(), tcpa_opt_in_token: token })

const textsTo = async ({ account }: Subscription, contactId: string): Promise<ReadonlyArray<unknown>> =>
  having(await account.manage('GET', `/contacts/${contactId}/messages`), 'messages').map(({ text }) => text)

const firstText = 'Hi Ada, this is Example Agency. Reply STOP to opt out.'

const textCame = (subscription: Subscription, contactId: string) =>
  until(
    'the first message',
    30_000,
    () => textsTo(subscription, contactId),
    (texts) => texts.includes(firstText),
  )

/** The labels that the webhook got first, with their notes, in the order of the labels' names. */
const told = async ({ receiver }: Subscription, count: number) => {
  const activities = (await receiver.received(count)).map((request) => payloadOf(request).activity)
  return activities
    .map((activity) => [activity?.label, activity?.note])
    .toSorted(([one = ''], [other = '']) => one.localeCompare(other))
}

const startedNote = ['started', 'The playbook started']

test('a lead whose consent is verified gets its message, and the service is asked once', async (t) => {
  const subscription = await following(t)
  const asked = lead('genuine')
  const { contact_id } = await subscription.account.submitted(asked)
  await textCame(subscription, contact_id)
  const { phone } = asked
  t.like(askedFor('genuine'), [{ url: 'https://consent.example/1', phone, email: 'ada@example.com' }])
  t.is(askedFor('genuine').length, 1)
  t.deepEqual(await told(subscription, 1), [startedNote])
})

test('a lead whose consent is refused is filtered, the webhook is told why, and nothing is sent', async (t) => {
  const subscription = await following(t)
  const { contact_id } = await subscription.account.submitted(lead('expired'))
  t.deepEqual(await told(subscription, 2), [['filtered', 'The consent was refused: token of … expired'], startedNote])
  t.deepEqual(await textsTo(subscription, contact_id), [])
})

test('an outage of the service delays the message until it is back', async (t) => {
  const subscription = await following(t)
  const { contact_id } = await subscription.account.submitted(lead('down at first'))
  await textCame(subscription, contact_id)
  t.is(askedFor('down at first').length, 4)
})

test('after a day of outage the lead is filtered', async (t) => {
  const subscription = await following(t, {}, opened().hasty)
  const { contact_id } = await subscription.account.submitted(lead('down for ever'))
  t.deepEqual(await told(subscription, 2), [
    ['filtered', 'The consent could not be verified within a day'],
    startedNote,
  ])
  t.deepEqual(await textsTo(subscription, contact_id), [])
  t.true(askedFor('down for ever').length > 1)
})

test('a consent of a host that the account does not accept is refused without asking anybody', async (t) => {
  const subscription = await following(t)
  const { account } = subscription
  const put = (accepted_consent_hosts: unknown) => account.manage('PUT', '/messaging', { accepted_consent_hosts })
  for (const wrong of [undefined, [], 'cert.example.com', ['https://cert.example.com/'], Array(101).fill('a.example')])
    t.is((await put(wrong)).status, 400, JSON.stringify(wrong))
  const accepted = await put(['Cert.Example.com'])
  t.like(accepted, { status: 200, body: { messaging: { accepted_consent_hosts: ['cert.example.com'] } } })
  const { contact_id } = await account.submitted(lead('unasked'))
  t.deepEqual(await told(subscription, 2), [
    ['filtered', 'The URL of the consent is of no host that the account accepts'],
    startedNote,
  ])
  t.deepEqual(await textsTo(subscription, contact_id), [])
  t.is((await put(null)).status, 200)
  const later = await account.submitted(lead('genuine too'))
  await textCame(subscription, later.contact_id)
  t.deepEqual(askedFor('unasked'), [])
})

const write = ({ account }: Subscription, engagementId: string) =>
  account.manage('POST', `/engagements/${engagementId}/messages`, { text: 'By hand' })

/** What a member wrote is neither waiting nor under way any more: in which states it is, and why. */
const writtenIn = ({ account }: Subscription, contactId: string, count = 1) =>
  until(
    'the end of what the member wrote',
    30_000,
    async () =>
      having(await account.manage('GET', `/contacts/${contactId}/messages`), 'messages')
        .filter(({ text }) => text === 'By hand')
        .map(({ state, reason }) => [state, reason]),
    (written) => written.length === count && written.every(([state]) => state === 'sent' || state === 'failed'),
  )

test('a member writes to nobody whose consent was refused, nor before it is verified', async (t) => {
  const silent = await following(t, { steps: [] })
  await silent.account.manage('PUT', '/messaging', { accepted_consent_hosts: ['cert.example.com'] })
  const refused = await silent.account.submitted(lead('unasked'))
  t.is((await told(silent, 2)).length, 2, 'it is filtered')
  t.is((await write(silent, refused.next_engagement_id)).status, 409)

  const subscription = await following(t)
  const { contact_id, next_engagement_id } = await subscription.account.submitted(lead('down at first for a member'))
  t.is((await write(subscription, next_engagement_id)).status, 201)
  t.deepEqual(await writtenIn(subscription, contact_id), [['sent', null]])
  t.is(askedFor('down at first for a member').length, 4)
})

test('where the playbook has no steps, what a member writes has the consent checked, once, also after an outage', async (t) => {
  const subscription = await following(t, { steps: [] })
  for (const [token, asked] of [
    ['genuine by hand', 1],
    ['down at first by hand', 4],
  ] as const) {
    const { contact_id, next_engagement_id } = await subscription.account.submitted(lead(token))
    t.is((await write(subscription, next_engagement_id)).status, 201)
    t.deepEqual(await writtenIn(subscription, contact_id), [['sent', null]])
    t.is(askedFor(token).length, asked)
    t.is((await write(subscription, next_engagement_id)).status, 201)
    await writtenIn(subscription, contact_id, 2)
    t.is(askedFor(token).length, asked, 'nobody asks again')
  }
})

test('where the playbook has no steps, a refused consent withdraws what a member wrote, and so does an outage of a day', async (t) => {
  const ends = [
    ['expired by hand', opened().service, 'The consent was refused: token of … expired'],
    ['down for ever by hand', opened().hasty, 'The consent could not be verified within a day'],
  ] as const
  for (const [token, site, note] of ends) {
    const subscription = await following(t, { steps: [] }, site)
    const { contact_id, next_engagement_id } = await subscription.account.submitted(lead(token))
    t.is((await write(subscription, next_engagement_id)).status, 201)
    t.deepEqual(await told(subscription, 2), [['filtered', note], startedNote])
    t.deepEqual(await writtenIn(subscription, contact_id), [['failed', 'the conversation has ended']])
    t.is((await write(subscription, next_engagement_id)).status, 409)
  }
})

test('a preview tells that the consent holds messages back, and asks nobody', async (t) => {
  const { account } = await following(t)
  const preview = async (lead: object) => {
    const at = '2026-03-02T17:00:00Z'
    const { status, body } = await account.manage('POST', `/playbooks/${account.playbookId}/preview`, { lead, at })
    t.is(status, 200)
    const { messages } = body as unknown as { readonly messages?: ReadonlyArray<{ readonly held_by: string | null }> }
    return messages?.map(({ held_by }) => held_by)
  }
  const url = 'https://consent.example/previewed'
  t.deepEqual(await preview({ first_name: 'Ada', tcpa_opt_in_url: url }), ['the verification of the consent'])
  await account.manage('PUT', '/messaging', { accepted_consent_hosts: ['cert.example.com'] })
  t.deepEqual(await preview({ first_name: 'Ada', tcpa_opt_in_url: url }), [
    'the account accepts no consent of the host of tcpa_opt_in_url',
  ])
  t.deepEqual(await preview({ first_name: 'Ada' }), ['the verification of the consent'])
  t.false(
    opened()
      .verifier.requests.map(askedIn)
      .some((asked) => asked.url === url),
  )
})

test('where a playbook sends nothing nobody is asked until a member writes, whatever the consent is', async (t) => {
  const subscription = await following(t, { steps: [] })
  const { contact_id } = await subscription.account.submitted(lead('unneeded'))
  const witness = await following(t)
  const { contact_id: written } = await witness.account.submitted(lead('genuine too'))
  await textCame(witness, written)
  t.deepEqual(askedFor('unneeded'), [])
  t.deepEqual(await told(subscription, 1), [startedNote])
  t.deepEqual(await textsTo(subscription, contact_id), [])
})
