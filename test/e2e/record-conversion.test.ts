import test from 'ava'
import { namedIn, send, bearer, having } from '../kit/network/http.js'
import { newPhone } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { openAccount, type Account } from '../kit/service/account.js'

const site = serviceForFile()

const timeline = async (account: Account, contactId: string) =>
  having(await account.manage('GET', `/contacts/${contactId}/timeline?limit=500`), 'timeline')

/** Whether a conversation is open shows when an outcome is reported: of one that has ended it is refused. */
const isOpen = async (account: Account, engagementId: string): Promise<boolean> => {
  const { status } = await account.report(engagementId, 'outcome', 'qualified')
  return status === 201
}

test('the first record of a conversion is 201 with its fields (contract 2.3, rule 4.5.1)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const converted_at = '2026-01-15T12:30:00.000Z'
  const answer = await account.record(sold, { contact_id, converted_at, custom_value: 120_000 })
  t.is(answer.status, 201)
  const record = having(answer, 'conversion_contact')
  t.deepEqual(answer.body, {
    conversion_contact: { id: record.id, contact_id, converted_at, value: 120_000, conversion_id: sold },
  })
  t.notRegex(record.id, /^(nct|cnv)_/)
  t.not(record.id, '')
})

test('without converted_at and custom_value: the time of the request and the own value (contract 4.5)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const renewed = await account.addConversion('Renewed', 4_200)
  const before = new Date().toISOString()
  const record = having(await account.record(renewed, { contact_id }), 'conversion_contact')
  t.is(record.value, 4_200)
  t.true(record.converted_at >= before && record.converted_at <= new Date().toISOString(), record.converted_at)
})

test('null in an optional field is as if it were not sent', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const renewed = await account.addConversion('Renewed', 77)
  const nulls = { converted_at: null, custom_value: null, keep_conversations_open: null }
  const record = having(await account.record(renewed, { contact_id, ...nulls }), 'conversion_contact')
  t.is(record.value, 77)
  t.regex(record.converted_at, /Z$/)
  t.false(await isOpen(account, next_engagement_id))
})

test('a custom_value of zero or more stands in the record (contract 4.5 and 8)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  for (const custom_value of [0, 1, 99_999_999, Number.MAX_SAFE_INTEGER]) {
    const conversion = await account.addConversion('Custom', 5)
    const answer = await account.record(conversion, { contact_id, custom_value })
    t.is(answer.status, 201)
    t.is(having(answer, 'conversion_contact').value, custom_value)
  }
})

const recordRaw = (account: Account, conversionId: string, body: string): ReturnType<typeof send> =>
  send(`${site.url}/api/v3/conversions/${conversionId}/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(account.apiKey) },
    body,
  })

const withValue = (contactId: string, value: string): string =>
  `{"conversion_contact":{"contact_id":"${contactId}","custom_value":${value}}}`

test('a negative custom_value is 422 on the field, and nothing is recorded (contract 4.5.5 and 7)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  for (const value of ['-1', '-9007199254740991']) {
    const answer = await recordRaw(account, sold, withValue(contact_id, value))
    t.is(answer.status, 422, value)
    t.deepEqual(answer.body, { errors: ['custom_value must be greater than or equal to 0'] }, value)
  }
  t.is((await account.record(sold, { contact_id, custom_value: 1 })).status, 201)
})

test('a negative whole number beyond what a double holds is negative all the same (contract 4.5.5)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  for (const value of ['-9007199254740993', '-1e300']) {
    t.is((await recordRaw(account, sold, withValue(contact_id, value))).status, 422, value)
  }
})

test('a custom_value that is no whole number up to 2^53-1 is 400 and named', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  for (const value of ['1.5', '"5"', '""', 'true', '[]', '{}', '9007199254740992', '1e400']) {
    const answer = await recordRaw(account, sold, withValue(contact_id, value))
    t.is(answer.status, 400, value)
    t.deepEqual(namedIn(answer), ['conversion_contact.custom_value'], value)
  }
})

test('a custom_value that a double rounds to a whole number is none, and one that is too large is told the largest', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const problem = 'conversion_contact.custom_value must be a whole number of cents up to 9,007,199,254,740,991'
  const wrong = ['9007199254740991.4', '0.9999999999999999999', '-0.9999999999999999999', '1e-400', '9007199254740992']
  for (const value of wrong) {
    const answer = await recordRaw(account, sold, withValue(contact_id, value))
    t.is(answer.status, 400, value)
    t.deepEqual(answer.body, { errors: [problem] }, value)
  }
  for (const value of ['120000.0', '12e4', '1200000e-1']) {
    const { contact_id: other } = await account.submitted()
    const answer = await recordRaw(account, sold, withValue(other, value))
    t.is(having(answer, 'conversion_contact').value, 120_000, value)
  }
})

test('converted_at is any ISO 8601 timestamp and is answered in UTC (contract 2.7)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const timestamps = [
    ['2026-01-15T12:30:00Z', '2026-01-15T12:30:00.000Z'],
    ['2026-01-15T12:30:00.25Z', '2026-01-15T12:30:00.250Z'],
    ['2026-01-15T12:30:00+05:30', '2026-01-15T07:00:00.000Z'],
    ['2026-01-15T22:30:00-0500', '2026-01-16T03:30:00.000Z'],
    ['2026-01-15T12:30:00-08', '2026-01-15T20:30:00.000Z'],
    ['2026-01-15T12:30', '2026-01-15T12:30:00.000Z'],
    ['2026-01-15', '2026-01-15T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ] as const
  for (const [converted_at, expected] of timestamps) {
    const conversion = await account.addConversion('Custom', 5)
    const answer = await account.record(conversion, { contact_id, converted_at })
    t.is(having(answer, 'conversion_contact').converted_at, expected, converted_at)
  }
})

test('a converted_at that is no ISO 8601 timestamp is 400 and named (contract 7)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const wrong = [
    '',
    '1',
    'yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-01-15T25:00:00Z',
    '01/15/2026',
    1_768_480_200,
    true,
    {},
  ]
  for (const converted_at of wrong) {
    const answer = await account.record(sold, { contact_id, converted_at })
    t.is(answer.status, 400, JSON.stringify(converted_at))
    t.deepEqual(namedIn(answer), ['conversion_contact.converted_at'], JSON.stringify(converted_at))
  }
})

test('every converted_at that is answered has a year of four digits (contract 2.7)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  for (const converted_at of ['9999-12-31T23:59:59-01:00', '0000-01-01T00:00:00+01:00']) {
    const conversion = await account.addConversion('Custom', 5)
    const answer = await account.record(conversion, { contact_id, converted_at })
    const isFine = answer.status === 400 || /^\d{4}-/.test(answer.body.conversion_contact?.converted_at ?? '')
    t.true(isFine, answer.text)
  }
})

test('the same conversion of the same contact again is 200 with the first record (contract 4.5.4)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const first = await account.record(sold, { contact_id, custom_value: 100, converted_at: '2026-01-15T00:00:00Z' })
  t.is(first.status, 201)
  const again = await account.record(sold, { contact_id, custom_value: 200, converted_at: '2026-02-15T00:00:00Z' })
  t.is(again.status, 200)
  t.deepEqual(again.body, first.body)
  const entries = await timeline(account, contact_id)
  t.is(entries.filter(({ kind }) => kind === 'conversion').length, 1)
  t.is(entries.filter(({ label }) => label === 'sold').length, 1)
})

test('a record stands for one conversion and one contact: another of either is another record', async (t) => {
  const account = await openAccount(site)
  const [one, other] = await Promise.all([account.submitted(), account.submitted()])
  const { quoted, sold } = await account.standardConversions()
  const pairs = [
    [quoted, one.contact_id],
    [sold, one.contact_id],
    [quoted, other.contact_id],
  ] as const
  const records = await Promise.all(pairs.map(([conversion, contact_id]) => account.record(conversion, { contact_id })))
  t.deepEqual(
    records.map(({ status }) => status),
    [201, 201, 201],
  )
  t.is(new Set(records.map((answer) => having(answer, 'conversion_contact').id)).size, 3)
})

test('an unknown conversion or contact, or one of another account, is 404 with a message (contract 4.5.6)', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const [mine, theirs] = await Promise.all([account.submitted(), other.submitted()])
  const { sold } = await account.standardConversions()
  const theirSold = (await other.standardConversions()).sold
  const unknown = [
    [theirSold, mine.contact_id, 'conversion not found'],
    [`cnv_${'0'.repeat(26)}`, mine.contact_id, 'conversion not found'],
    ['Sold', mine.contact_id, 'conversion not found'],
    [mine.contact_id, mine.contact_id, 'conversion not found'],
    [sold, theirs.contact_id, 'contact not found'],
    [sold, `nct_${'0'.repeat(26)}`, 'contact not found'],
    [sold, '+14155550123', 'contact not found'],
    [sold, mine.lead_id, 'contact not found'],
  ] as const
  for (const [conversion, contact_id, message] of unknown) {
    const answer = await account.record(conversion, { contact_id })
    t.is(answer.status, 404, `${conversion} ${contact_id}`)
    t.deepEqual(answer.body, { message }, `${conversion} ${contact_id}`)
  }
  t.deepEqual(
    (await timeline(other, theirs.contact_id)).filter(({ kind }) => kind === 'conversion'),
    [],
  )
})

test('a contact_id that is missing, empty or no text is 400 and named (contract 4.5.7)', async (t) => {
  const account = await openAccount(site)
  const { sold } = await account.standardConversions()
  for (const fields of [
    {},
    { contact_id: null },
    { contact_id: '' },
    { contact_id: '  ' },
    { contact_id: 5 },
    { contact_id: [] },
  ]) {
    const answer = await account.record(sold, fields)
    t.is(answer.status, 400, JSON.stringify(fields))
    t.deepEqual(namedIn(answer), ['conversion_contact.contact_id'], JSON.stringify(fields))
  }
})

test('a body without conversion_contact is 400 and names it (contract 4.5.7)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  for (const body of [{}, { contact_id }, { conversion_contact: null }, { conversion_contact: contact_id }, []]) {
    const answer = await account.rest(`/conversions/${sold}/events`, body)
    t.is(answer.status, 400, JSON.stringify(body))
    t.regex(answer.body.errors?.join() ?? '', /conversion_contact/, JSON.stringify(body))
  }
  const empty = await send(`${site.url}/api/v3/conversions/${sold}/events`, {
    method: 'POST',
    headers: bearer(account.apiKey),
  })
  t.is(empty.status, 400)
  t.regex(empty.body.errors?.join() ?? '', /conversion_contact/)
})

test('every wrong field is named at once (contract 7)', async (t) => {
  const account = await openAccount(site)
  const { sold } = await account.standardConversions()
  const answer = await account.record(sold, { converted_at: 'soon', custom_value: 'x', keep_conversations_open: 'no' })
  t.is(answer.status, 400)
  t.deepEqual([...namedIn(answer)].sort(), [
    'conversion_contact.contact_id',
    'conversion_contact.converted_at',
    'conversion_contact.custom_value',
    'conversion_contact.keep_conversations_open',
  ])
})

test('invalid JSON is 400 with an error text instead of an errors list (contract 7)', async (t) => {
  const account = await openAccount(site)
  const { sold } = await account.standardConversions()
  for (const body of ['{', '{"conversion_contact":', 'conversion_contact', "{'a':1}", '{"a":1}}', '\u0000']) {
    const answer = await recordRaw(account, sold, body)
    t.is(answer.status, 400, body)
    t.deepEqual(answer.body, { error: 'the body is not valid JSON' }, body)
  }
})

test('valid JSON that is no object is 400 with an errors list (contract 7)', async (t) => {
  const account = await openAccount(site)
  const { sold } = await account.standardConversions()
  const expected = ['the body must be { conversion_contact: an object with contact_id }']
  for (const body of ['null', '1', '"x"', '""', 'false', ' 1.50 ', '[]']) {
    const answer = await recordRaw(account, sold, body)
    t.is(answer.status, 400, body)
    t.deepEqual(answer.body, { errors: expected }, body)
  }
})

test('a body of another type is 400, one past 100 kB is 413 (contract 4)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const body = JSON.stringify({ conversion_contact: { contact_id } })
  const path = `${site.url}/api/v3/conversions/${sold}/events`
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...bearer(account.apiKey) }
  const wrongType = await send(path, { method: 'POST', headers: form, body })
  t.is(wrongType.status, 400)
  t.regex(wrongType.body.errors?.join() ?? '', /Content-Type/)
  const tooLarge = await recordRaw(account, sold, body.padEnd(102_401))
  t.is(tooLarge.status, 413)
  t.is(tooLarge.body.errors?.length, 1)
  t.is((await recordRaw(account, sold, body.padEnd(102_400))).status, 201)
})

test('a conversion stands on the timeline of the contact, with one activity of its label (contract 4.5.2)', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const { quoted, sold } = await account.standardConversions()
  const renewed = await account.addConversion('Renewed', 900)
  const records = []
  for (const conversion of [quoted, sold, renewed]) {
    records.push(having(await account.record(conversion, { contact_id }), 'conversion_contact'))
  }
  const entries = await timeline(account, contact_id)
  t.deepEqual(
    entries
      .filter(({ kind }) => kind === 'conversion')
      .map(({ id, conversion_id, value, title }) => ({ id, conversion_id, value, title })),
    records.map(({ id, conversion_id, value }, index) => ({
      id,
      conversion_id,
      value,
      title: ['Quoted', 'Sold', 'Renewed'][index],
    })),
  )
  const activities = entries.filter(({ type }) => type === 'conversion')
  t.deepEqual(
    activities.map(({ label, properties }) => ({ label, properties })),
    [
      { label: 'quoted', properties: {} },
      { label: 'sold', properties: {} },
      { label: 'custom_conversion', properties: { title: 'Renewed' } },
    ],
  )
  t.true(activities.every((entry) => entry['next_engagement_id'] === next_engagement_id))
})

test('a conversion ends every open conversation, with one activity in the newest (contract 4.5.3)', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const engagements: Array<string> = []
  for (let n = 0; n < 3; n += 1) engagements.push((await account.submitted({ phone })).next_engagement_id)
  const contact_id = having(await account.find(phone), 'contact').id
  const other = await account.submitted()
  const { sold } = await account.standardConversions()
  t.is((await account.record(sold, { contact_id })).status, 201)
  const sales = (await timeline(account, contact_id)).filter(({ label }) => label === 'sold')
  t.deepEqual(
    sales.map((entry) => entry['next_engagement_id']),
    [engagements.at(-1)],
  )
  for (const engagement of engagements) t.false(await isOpen(account, engagement), engagement)
  t.true(await isOpen(account, other.next_engagement_id))
})

test('keep_conversations_open keeps them open, and the next conversion ends them', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const { quoted, sold } = await account.standardConversions()
  t.is((await account.record(quoted, { contact_id, keep_conversations_open: true })).status, 201)
  t.is((await account.report(next_engagement_id, 'event', 'phone_call_completed')).status, 201)
  const renewed = await account.addConversion('Renewed', 1)
  t.is((await account.record(renewed, { contact_id, keep_conversations_open: true })).status, 201)
  t.is((await account.record(sold, { contact_id, keep_conversations_open: false })).status, 201)
  t.false(await isOpen(account, next_engagement_id))
})

test('a lead after a conversion begins a new conversation, which the old record does not end', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const { contact_id } = await account.submitted({ phone })
  const { sold } = await account.standardConversions()
  await account.record(sold, { contact_id })
  const { next_engagement_id } = await account.submitted({ phone })
  t.is((await account.record(sold, { contact_id })).status, 200)
  t.true(await isOpen(account, next_engagement_id))
})
