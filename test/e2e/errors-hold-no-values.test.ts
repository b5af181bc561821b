import test from 'ava'
import { randomBytes } from 'node:crypto'
import { bearer, having, send, sendForm, sendJson, sendRaw, type Answer, type Site } from '../kit/network/http.js'
import { openReceiver } from '../kit/network/receiver.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { lead, requiredFields } from '../kit/service/leads.js'
import { addressOf, startService, stopped } from '../kit/service/service-process.js'
import { operatorKey } from '../kit/service/settings.js'
import { deliveriesOf, longestDelivery, turned } from '../kit/service/subscription.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

const mark = (): string => `zz${randomBytes(6).toString('hex')}`

/** Values that stand nowhere else: where one is met, it leaked. */
const values = {
  first_name: `First${mark()}`,
  last_name: `Last${mark()}`,
  email: `${mark()}@example.com`,
  phone: '(987) 555-4321',
  date_of_birth: '1961-07-23',
  current_residence_address: `77 ${mark()} Street`,
  current_residence_city: `City${mark()}`,
  current_residence_zip: '98765-4321',
  current_insurance_carrier: `Carrier${mark()}`,
  tcpa_opt_in_token: `token-${mark()}`,
  tcpa_opt_in_url: `https://consent.example/${mark()}`,
  household: `Household${mark()}`,
  lead_id: `L-${mark()}`,
} as const

const secrets = {
  webhookToken: `hook-${mark()}`,
  webhookPath: `/hook-${mark()}`,
  idempotencyKey: `key-${mark()}`,
  note: `note-${mark()}`,
  wrongKey: `wrong-${mark()}`,
  wrongOperatorKey: `operator-${mark()}`,
  inPath: `path-${mark()}`,
  inQuery: `query-${mark()}`,
  inHeader: `header-${mark()}`,
  inType: `type-${mark()}`,
  inAnswer: `answer-${mark()}`,
} as const

const forbidden: ReadonlyArray<string> = [
  ...Object.values(values),
  ...Object.values(secrets),
  '9875554321',
  '987-555-4321',
  operatorKey,
]

const found = (text: string, of: ReadonlyArray<string> = forbidden): ReadonlyArray<string> =>
  of.filter((value) => text.includes(value) || text.includes(encodeURIComponent(value)))

/** What may be done about a delivery that failed; its log shows what the receiver said, and nothing else does. */
const followUp = async (account: Account, webhookId: string): Promise<void> => {
  const path = `/webhooks/${webhookId}`
  const [failed] = await deliveriesOf(account, webhookId, '&state=failed')
  const shown = await account.manage('GET', `${path}/deliveries/${failed?.id ?? ''}`)
  if (!shown.text.includes(secrets.inAnswer)) throw new Error(`no excerpt: ${shown.status}`)
  await account.manage('POST', `${path}/deliveries/${failed?.id ?? ''}/resend`)
  await account.manage('POST', `${path}/resends`, { from: '2026-01-01', to: '9999-01-01' })
  await until(
    'the resend is completed',
    longestDelivery,
    async () => having(await account.manage('GET', `${path}/resends`), 'resends'),
    (all) => all[0]?.['state'] === 'completed',
  )
  await account.manage('POST', `${path}/turn_on`, { catch_up: true })
  await turned(account, webhookId, 'off')
}

/** What holds no value: error bodies here, then the log, what was said to people, and the metrics. */
const collect = async (
  site: Site,
): Promise<{ readonly errors: ReadonlyArray<Answer>; readonly credentials: ReadonlyArray<string> }> => {
  const account = await openAccount(site)
  const { quoted, sold } = await account.standardConversions()
  const receiver = await openReceiver()
  receiver.answer((n, response) => {
    const { headers, body } = receiver.requests[n - 1] ?? {}
    response.writeHead(500).end(`${secrets.inAnswer} ${headers?.authorization ?? ''} ${body?.toString('utf8') ?? ''}`)
    return undefined
  })
  const url = receiver.url.replace('/hook', secrets.webhookPath)
  const webhookId = await account.addWebhook({ url, token: secrets.webhookToken })
  const good = lead(values)
  const key = { 'idempotency-key': secrets.idempotencyKey }
  const submitted = having(await account.submit(good, key), 'contact_id')
  await receiver.received(mostAttempts)
  await turned(account, webhookId, 'off')
  await followUp(account, webhookId)

  const json = { 'content-type': 'application/json' }
  const post = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = json): Promise<Answer> =>
    send(account.postUrl, { method: 'POST', headers, body })
  const text = JSON.stringify(good)
  const record = (fields: unknown): Promise<Answer> =>
    account.rest(`/conversions/${sold}/events`, { conversion_contact: fields })
  const hook = { url: receiver.url, token: secrets.webhookToken }
  const wrongFields = requiredFields.map((name) => account.submit({ ...good, [name]: [Object.values(values)] }))

  const answers = [
    ...wrongFields,
    account.submit({ ...values, email: values.household, phone: values.first_name, date_of_birth: values.last_name }),
    account.submit({ ...good, current_residence_state: values.household, tcpa_opt_in_url: values.tcpa_opt_in_token }),
    account.submit({ ...good, household: values.household.repeat(1_000) }),
    account.submit(good, { 'idempotency-key': secrets.idempotencyKey.repeat(20) }),
    post(text.slice(0, -1)),
    post(`${text}${text}`),
    post(text.replace(/"/g, "'")),
    post(text, { 'content-type': secrets.inType }),
    post(text, { ...json, 'content-encoding': secrets.inHeader }),
    post(text, { ...json, 'content-encoding': 'gzip' }),
    post(text.padEnd(150_000, values.household)),
    post(`${text.slice(0, -1)},"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
    sendForm(account.postUrl, { ...values, email: values.household }),
    post(JSON.stringify({ ...values, history: `a=${'x'.repeat(10_001)}` }), {
      'content-type': 'application/x-www-form-urlencoded',
    }),
    sendForm(`${site.url}/marketing_sources/${secrets.inPath}/${account.sourceId}`, values),
    account.find(values.first_name),
    account.find('9875550000'),
    account.rest(`/contacts/${encodeURIComponent(values.email)}`),
    account.rest(`/contacts/${secrets.inPath}?phone=${secrets.inQuery}`),
    account.rest(`/${secrets.inPath}`),
    send(`${site.url}/${secrets.inPath}/%E0%A4%A?${secrets.inQuery}`),
    send(`${site.url}/api/v3/conversions`, { method: 'PUT', headers: { [secrets.inHeader]: values.email } }),
    send(`${site.url}/api/v3/conversions`, { headers: bearer(secrets.wrongKey) }),
    send(`${site.url}/api/v3/conversions`, { headers: bearer(`${account.apiKey}${secrets.wrongKey}`) }),
    send(`${site.url}/manage/v1/accounts`, { method: 'POST', headers: bearer(secrets.wrongOperatorKey) }),
    record({ contact_id: values.email }),
    record({ contact_id: submitted, converted_at: values.date_of_birth.replace('07', '77') }),
    record({ contact_id: submitted, converted_at: values.household, custom_value: values.household }),
    record({ contact_id: submitted, custom_value: -9_875_554_321 }),
    record({ contact_id: [values.email], keep_conversations_open: values.first_name }),
    account.rest(`/conversions/${values.first_name}/events`, { conversion_contact: { contact_id: submitted } }),
    send(`${site.url}/api/v3/conversions/${quoted}/events`, {
      method: 'POST',
      headers: { ...json, ...bearer(account.apiKey) },
      body: text.slice(1),
    }),
    account.manage('POST', '/members', { email: values.household, role: values.first_name }),
    account.manage('POST', '/webhooks', { ...hook, url: values.household }),
    account.manage('POST', '/webhooks', {
      ...hook,
      url: `http://${values.first_name}:${secrets.webhookToken}@example.com/`,
    }),
    account.manage('POST', '/webhooks', { ...hook, token: `${secrets.webhookToken} ${values.household}` }),
    account.manage('POST', '/webhooks', { ...hook, events: [secrets.webhookToken] }),
    account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: values.first_name }),
    account.manage('POST', `/webhooks/${secrets.inPath}/turn_on`, { catch_up: true }),
    account.manage('GET', `/webhooks/${webhookId}/deliveries?state=${secrets.inQuery}&lead_id=${values.lead_id}`),
    account.manage('GET', `/webhooks/${webhookId}/deliveries?from=${values.date_of_birth}x&to=${secrets.inQuery}`),
    account.manage('GET', `/webhooks/${webhookId}/deliveries/${secrets.inPath}`),
    account.manage('POST', `/webhooks/${webhookId}/deliveries/${secrets.inPath}/resend`),
    account.manage('POST', `/webhooks/${webhookId}/resends`, { from: values.first_name, to: [secrets.note] }),
    account.manage('GET', `/webhooks/${webhookId}/resends?cursor=${secrets.inQuery}`),
    account.manage('GET', `/webhooks/${webhookId}/resends/${secrets.inPath}`),
    account.manage('POST', `/webhooks/${webhookId}/resends/${secrets.inPath}/cancel`),
    account.manage('POST', '/playbooks', {
      title: values.household,
      steps: [{ message: [values.household], delay_minutes: values.first_name }],
    }),
    account.manage('GET', `/contacts/${values.first_name}/timeline`),
    account.manage('GET', `/contacts/${submitted}/timeline?cursor=${secrets.inQuery}`),
    account.report(secrets.inPath, 'event', 'interested', { note: secrets.note }),
    account.report(`neg_${'0'.repeat(26)}`, 'event', 'interested', { note: secrets.note, properties: values }),
    account.report(`neg_${'0'.repeat(26)}`, secrets.note, secrets.note, { note: [secrets.note] }),
    sendJson(`${site.url}/manage/v1/accounts/${secrets.inPath}/members`, 'POST', values, bearer(operatorKey)),
  ]
  const errors = await Promise.all(answers)
  await sendRaw(site.url, `GET /${secrets.inPath} HTTP/1.1\r\n${secrets.inHeader}: ${'x'.repeat(40_000)}\r\n\r\n`)
  await sendRaw(
    site.url,
    `GET http://[${secrets.inPath} HTTP/1.1\r\nHost: ${secrets.inHeader}\r\nConnection: close\r\n\r\n`,
  )
  await receiver.close()
  // With the receiver gone an attempt fails in another way.
  await account.submit({ ...good, lead_id: `${values.lead_id}-2` })
  return { errors, credentials: [account.apiKey, new URL(account.postUrl).pathname] }
}

test('no error body, no log line and no metric holds a personal value or a secret', async (t) => {
  const service = startService(t, temporaryDirectory(t), { LOG_LEVEL: 'debug', CLOCK_RATE: '1000000' })
  const site = { url: await addressOf(service) }
  const { errors, credentials } = await collect(site)
  t.deepEqual(
    errors.filter(({ status }) => status < 400).map(({ text }) => text),
    [],
  )
  for (const { status, text, headers } of errors) {
    const shown = `${text} ${JSON.stringify(headers)}`
    t.deepEqual(found(shown), [], `${status} ${text}`)
    t.deepEqual(found(shown, credentials), [], `${status} ${text}`)
  }

  const metrics = await send(`${site.url}/metrics`)
  const ready = await send(`${site.url}/health/ready`)
  t.is(metrics.status, 200)
  await stopped(t, service)
  t.true(service.stdout().includes('listening'))
  const places = { metrics: metrics.text, ready: ready.text, stdout: service.stdout(), stderr: service.stderr() }
  for (const [place, text] of Object.entries(places)) {
    t.deepEqual(found(text), [], place)
    t.deepEqual(found(text, credentials), [], place)
  }
})
