import test from 'ava'
import { bearer, namedIn, send, sendForm, sendJson, having } from '../kit/network/http.js'
import { formLead, lead, newPhone, requiredFields, spellings, without } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { idsOf, openAccount, type Account } from '../kit/service/account.js'
import { operatorKey } from '../kit/service/settings.js'

const site = serviceForFile()

const contactOf = async (account: Account, contactId: string) =>
  having(await account.rest(`/contacts/${contactId}`), 'contact')

const leadsOf = async (account: Account, sourceId = account.sourceId) =>
  having(await account.manage('GET', `/marketing_sources/${sourceId}/leads?limit=500`), 'leads')

test('a valid submission is 200 with a lead, its contact and a conversation (contract 4.6.3 and 4.6.4)', async (t) => {
  const account = await openAccount(site)
  const answer = await account.submit(lead())
  t.is(answer.status, 200)
  t.deepEqual(Object.keys(answer.body).sort(), ['contact_id', 'lead_id', 'next_engagement_id'])
  const { lead_id, contact_id, next_engagement_id } = idsOf(answer)
  t.regex(lead_id, /^led_/)
  t.regex(contact_id, /^nct_/)
  t.regex(next_engagement_id, /^neg_/)
  const [tagged] = await leadsOf(account)
  t.like(tagged, { id: lead_id, contact_id, next_engagement_id })
  const timeline = having(await account.manage('GET', `/contacts/${contact_id}/timeline`), 'timeline')
  t.deepEqual(
    timeline.map(({ kind, label }) => [kind, label]),
    [
      ['lead', undefined],
      ['activity', 'started'],
    ],
  )
})

test('JSON and form encoding give the same contact (contract 4.6)', async (t) => {
  const account = await openAccount(site)
  const fields = { first_name: 'Zoë & Søn', last_name: "O'Neil + Co", note: 'a=b;c%20d\n"e"', empty: '' }
  const [one, other] = [formLead(fields), formLead(fields)]
  const json = idsOf(await account.submit(one))
  const form = idsOf(await sendForm(account.postUrl, other))
  const [fromJson, fromForm] = [await contactOf(account, json.contact_id), await contactOf(account, form.contact_id)]
  const same = { id: '', phone: '', created_at: '', referral: {} }
  t.deepEqual({ ...fromForm, ...same }, { ...fromJson, ...same })
  t.is(fromForm.first_name, 'Zoë & Søn')
  t.is(fromForm.additional_info['note'], 'a=b;c%20d\n"e"')
  t.false('empty' in fromForm.additional_info)
})

test('a bare plus in a form reads as a blank and the number is read all the same (contract 4.6)', async (t) => {
  const account = await openAccount(site)
  const phones = ['+442079460958', '+525512345678', newPhone()]
  for (const phone of phones) {
    const form = new URLSearchParams(formLead({ phone })).toString().replace('phone=%2B', 'phone=+')
    const answer = await send(account.postUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    })
    t.is(answer.status, 200, answer.text)
    t.is((await contactOf(account, idsOf(answer).contact_id)).phone, phone)
  }
  t.is((await sendForm(account.postUrl, formLead({ phone: '442079460958' }))).status, 400)
})

test('a blank before a number in JSON is no lost plus: seven digits are not read as a number of Germany', async (t) => {
  const account = await openAccount(site)
  for (const phone of [' 491-2345', ' 442079460958']) {
    const answer = await account.submit(lead({ phone }))
    t.deepEqual([answer.status, answer.body.errors], [400, ['phone must be a phone number']], phone)
  }
})

test('a content type may carry a charset and be in any case', async (t) => {
  const account = await openAccount(site)
  const types = [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;charset="UTF-8"',
    'application/json;',
    'application/json;\tcharset=utf-8',
    'application/json\t; a = b ;',
  ]
  for (const type of types) t.is((await account.submit(lead(), { 'content-type': type })).status, 200, type)
  const formTypes = [
    'application/x-www-form-urlencoded; charset=UTF-8',
    'APPLICATION/X-WWW-FORM-URLENCODED',
    'application/x-www-form-urlencoded;\tcharset=utf-8',
    'application/x-www-form-urlencoded ;',
  ]
  for (const type of formTypes) {
    t.is((await sendForm(account.postUrl, formLead(), { 'content-type': type })).status, 200, type)
  }
})

test('a lead is read by the charset that its content type names, and refused where that is none that is read', async (t) => {
  const account = await openAccount(site)
  const post = (type: string, body: string | Uint8Array) =>
    send(account.postUrl, { method: 'POST', headers: { 'content-type': type }, body })
  const fields = formLead({ first_name: 'José', last_name: 'a+b&c=d', note: 'ñ' })
  const asForm = (encode: (text: string) => string): string =>
    Object.entries(fields)
      .map(([name, value]) => `${name}=${encode(value)}`)
      .join('&')
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1')
  const inPercent = (text: string): string => latin(text).toString('hex').replace(/../g, '%$&')
  const inPart = (text: string): string => text.replace(/[^\wéñ]/g, encodeURIComponent)
  for (const [type, body] of [
    ['application/json; charset=ISO-8859-1', latin(JSON.stringify(fields))],
    ['application/json; a=b; charset="iso-8859-1"', latin(JSON.stringify(fields))],
    ['application/json; charset=us-ascii', JSON.stringify(fields)],
    ['application/json; charset=windows-1252', latin(JSON.stringify(fields))],
    ['application/json; charset=iso-8859-1', JSON.stringify(fields)],
    ['application/x-www-form-urlencoded; charset=ISO-8859-1', asForm(inPercent)],
    ['application/x-www-form-urlencoded; charset=iso-8859-1', latin(asForm(inPart))],
    ['application/x-www-form-urlencoded; charset=iso-8859-1', asForm(encodeURIComponent)],
    ['application/x-www-form-urlencoded; charset=UTF8', asForm(encodeURIComponent)],
  ] as const) {
    const answer = await post(type, body)
    t.is(answer.status, 200, type)
    const { first_name, last_name, additional_info } = await contactOf(account, idsOf(answer).contact_id)
    t.deepEqual([first_name, last_name, additional_info['note']], ['José', 'a+b&c=d', 'ñ'], type)
  }
  for (const charset of ['utf-16', 'shift_jis', 'constructor', '""', "'utf-8'"])
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const { status, body } = await post(`${type}; charset=${charset}`, JSON.stringify(fields))
      t.is(status, 415, charset)
      t.deepEqual(body.errors, ['the charset in Content-Type must be utf-8, iso-8859-1 or windows-1252'])
    }
  const wide = Buffer.from(JSON.stringify({ title: 'Sold again', value: 1 }), 'utf16le')
  const headers = { ...bearer(operatorKey), 'content-type': 'application/json; charset=utf-16le' }
  const manageUrl = `${site.url}/manage/v1/accounts/${account.id}/conversions`
  t.is((await send(manageUrl, { method: 'POST', headers, body: wide })).status, 415)
})

test('what windows-1252 has where ISO-8859-1 has control characters is read, in JSON and in a form', async (t) => {
  const account = await openAccount(site)
  for (const [type, body] of [
    ['application/json', Buffer.from(JSON.stringify(lead({ last_name: 'O\x92Neil' })), 'latin1')],
    [
      'application/x-www-form-urlencoded',
      new URLSearchParams(formLead({ last_name: '-' })).toString().replace('last_name=-', 'last_name=O%92Neil'),
    ],
  ] as const) {
    const headers = { 'content-type': `${type}; charset=iso-8859-1` }
    const answer = await send(account.postUrl, { method: 'POST', headers, body })
    t.is((await contactOf(account, idsOf(answer).contact_id)).last_name, 'O’Neil', type)
  }
})

test('an accepted content type with an unreadable parameter is refused as such, or read', async (t) => {
  const account = await openAccount(site)
  const answer = await account.submit(lead(), { 'content-type': 'application/json; charset' })
  t.true([200, 415].includes(answer.status), answer.text)
})

for (const encoding of ['JSON', 'form'] as const) {
  test(`each field of a standard playbook is required, in ${encoding} (contract 4.6)`, async (t) => {
    const account = await openAccount(site)
    for (const name of requiredFields) {
      const fields = without(formLead(), name) as Readonly<Record<string, string>>
      const answer = await (encoding === 'JSON' ? account.submit(fields) : sendForm(account.postUrl, fields))
      t.is(answer.status, 400, name)
      t.deepEqual(answer.body, { errors: [`${name} is required`] }, name)
    }
    t.deepEqual(await leadsOf(account), [])
  })
}

test('a submission with several problems is 400 and names every one', async (t) => {
  const account = await openAccount(site)
  const nothing = await account.submit({})
  t.is(nothing.status, 400)
  t.deepEqual([...namedIn(nothing)].sort(), [...requiredFields].sort())
  const mixed = await account.submit({
    ...without(lead(), 'gender', 'credit_rating'),
    email: 'nobody',
    phone: '12',
    date_of_birth: '1985-02-30',
    current_residence_state: 'ZZ',
    tcpa_opt_in_url: 'consent',
    marital_status: ['Single'],
    vendor_note: 'x'.repeat(10_001),
  })
  t.is(mixed.status, 400)
  const wrong = [
    'credit_rating',
    'current_residence_state',
    'date_of_birth',
    'email',
    'gender',
    'marital_status',
    'phone',
  ]
  t.deepEqual([...namedIn(mixed)].sort(), [...wrong, 'tcpa_opt_in_url', 'vendor_note'])
})

test('extra fields stand in additional_info under their names, objects and lists as JSON (contract 2.1)', async (t) => {
  const account = await openAccount(site)
  const extra = { 'Utm Source': 'search', ünïcode: '✓', 'a.b[c]': 'd', '1': 'one', constructor: 'x', toString: 'y' }
  const { contact_id } = await account.submitted({
    ...extra,
    home: { rooms: 3, pets: ['cat'] },
    cars: [{ year: 2020 }, null],
    none: null,
    blank: ' ',
    spaced: '  kept  ',
  })
  const { additional_info } = await contactOf(account, contact_id)
  t.like(additional_info, {
    ...extra,
    home: '{"rooms":3,"pets":["cat"]}',
    cars: '[{"year":2020},null]',
    spaced: '  kept  ',
  })
  for (const name of [
    'none',
    'blank',
    'first_name',
    'last_name',
    'email',
    'phone',
    'tcpa_opt_in_token',
    'tcpa_opt_in_url',
  ]) {
    t.false(Object.hasOwn(additional_info, name), name)
  }
  t.true(Object.values(additional_info).every((value) => typeof value === 'string'))
})

test('a field called __proto__ is a field like any other, in JSON as in a form (contract 4.6)', async (t) => {
  const account = await openAccount(site)
  const form = idsOf(await sendForm(account.postUrl, `${new URLSearchParams(formLead()).toString()}&__proto__=x`))
  const [, text = ''] = (await account.rest(`/contacts/${form.contact_id}`)).text.split('"additional_info":')
  t.true(text.includes('"__proto__":"x"'))
  const body = JSON.stringify(lead()).replace(/}$/, ',"__proto__":"x"}')
  const json = await send(account.postUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  t.is(json.status, 200, json.text)
})

test('a form field that comes twice is a list: an extra one is accepted, a required one refused', async (t) => {
  const account = await openAccount(site)
  const form = new URLSearchParams(formLead()).toString()
  const { contact_id } = idsOf(await sendForm(account.postUrl, `${form}&pet=cat&pet=dog&pet=`))
  t.is((await contactOf(account, contact_id)).additional_info['pet'], '["cat","dog",""]')
  const refused = await sendForm(account.postUrl, `${form}&phone=4155550123`)
  t.is(refused.status, 400)
  t.deepEqual(refused.body.errors, ['phone must be a text, and be given once'])
})

test('both TCPA fields are required whatever the playbook asks for (contract 4.6.1)', async (t) => {
  const account = await openAccount(site)
  const playbook = having(
    await account.manage('POST', '/playbooks', { title: 'Short', required_fields: [] }),
    'playbook',
  )
  const { postUrl } = await account.addSource({ playbook_id: playbook.id })
  const answer = await sendJson(postUrl, 'POST', {})
  t.is(answer.status, 400)
  t.deepEqual([...namedIn(answer)].sort(), ['phone', 'tcpa_opt_in_token', 'tcpa_opt_in_url'])
  const enough = { phone: newPhone(), tcpa_opt_in_token: 'c', tcpa_opt_in_url: 'https://consent.example/2' }
  const { contact_id } = idsOf(await sendJson(postUrl, 'POST', enough))
  t.like(await contactOf(account, contact_id), { first_name: '', last_name: '', email: '', additional_info: {} })
})

test('the required fields are those of the playbook of the source, as it is now (contract 4.6)', async (t) => {
  const account = await openAccount(site)
  const asked = { title: 'Boats', required_fields: ['first_name', 'boat_length', 'email'] }
  const { id } = having(await account.manage('POST', '/playbooks', asked), 'playbook')
  const { postUrl } = await account.addSource({ playbook_id: id })
  const fields = { phone: newPhone(), tcpa_opt_in_token: 'c', tcpa_opt_in_url: 'https://consent.example/2' }
  const refused = await sendJson(postUrl, 'POST', { ...fields, email: 'no' })
  t.deepEqual([...namedIn(refused)].sort(), ['boat_length', 'email', 'first_name'])
  const lots = { ...fields, first_name: 'Grace', boat_length: 31, email: 'grace@example.com' }
  const { contact_id } = idsOf(await sendJson(postUrl, 'POST', lots))
  t.is((await contactOf(account, contact_id)).additional_info['boat_length'], '31')
  await account.manage('PATCH', `/playbooks/${id}`, { required_fields: ['sail'] })
  t.deepEqual(namedIn(await sendJson(postUrl, 'POST', lots)), ['sail'])
  t.is((await account.submit(lead())).status, 200)
})

test('a required field is named as the playbook spells it, in any script and with any mark (contract 4.6.5)', async (t) => {
  const account = await openAccount(site)
  const required_fields = ['größe', '郵便番号', 'e-mail (work)']
  const { id } = having(await account.manage('POST', '/playbooks', { title: 'Abroad', required_fields }), 'playbook')
  const { postUrl } = await account.addSource({ playbook_id: id })
  t.deepEqual((await sendJson(postUrl, 'POST', lead())).body.errors, [
    'größe is required',
    '郵便番号 is required',
    'e-mail (work) is required',
  ])
  const wrong = {
    größe: {},
    郵便番号: 'x'.repeat(10_001),
    'e-mail (work)': 'ada@example.com',
    'note (own)': 'x'.repeat(10_001),
  }
  t.deepEqual((await sendJson(postUrl, 'POST', lead(wrong))).body.errors, [
    'größe must be a text',
    '郵便番号 must have at most 10,000 characters',
    'a field must have at most 10,000 characters',
  ])
})

test('the own lead id of the vendor stands with the lead under the title of the source (contract 4.6.2)', async (t) => {
  const account = await openAccount(site)
  const custom = await account.addSource({ title: 'Partner', originator_field: 'ref no' })
  const cases: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, ReadonlyArray<unknown>]> = [
    ['standard', { lead_id: 'L-1', external_id: 'E-1' }, [{ origin: 'Search ads', key: 'L-1' }]],
    ['standard', { external_id: 'E-2' }, [{ origin: 'Search ads', key: 'E-2' }]],
    ['standard', { lead_id: 77 }, [{ origin: 'Search ads', key: '77' }]],
    ['standard', { lead_id: '  ', external_id: 'E-3' }, [{ origin: 'Search ads', key: 'E-3' }]],
    ['standard', { 'ref no': 'R-1' }, []],
    ['custom', { 'ref no': 'R-2', lead_id: 'L-2' }, [{ origin: 'Partner', key: 'R-2' }]],
    ['custom', { lead_id: 'L-3', external_id: 'E-4' }, []],
  ]
  for (const [source, fields, lead_originators] of cases) {
    const postUrl = source === 'custom' ? custom.postUrl : account.postUrl
    const sourceId = source === 'custom' ? custom.id : account.sourceId
    const { lead_id } = idsOf(await sendJson(postUrl, 'POST', lead(fields)))
    const found = (await leadsOf(account, sourceId)).find(({ id }) => id === lead_id)
    t.deepEqual(found?.['lead_originators'], lead_originators, JSON.stringify(fields))
  }
})

test('the lead is tagged to its source, newest first (contract 2.5 and 4.6.3)', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource({ title: 'Social' })
  const first = await account.submitted()
  const second = idsOf(await sendJson(other.postUrl, 'POST', lead()))
  const third = await account.submitted()
  t.deepEqual(
    (await leadsOf(account)).map(({ id }) => id),
    [third.lead_id, first.lead_id],
  )
  t.deepEqual(
    (await leadsOf(account, other.id)).map(({ id }) => id),
    [second.lead_id],
  )
})

test('a known number again is the same contact with the newest values and the first referral', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource({ title: 'Social' })
  const phone = newPhone()
  const first = await account.submitted({ phone, colour: 'green', size: 'L' })
  const before = await contactOf(account, first.contact_id)
  const changes = { first_name: 'Augusta', email: 'augusta@example.com', colour: 'blue', gender: 'X' }
  for (const spelling of spellings(phone)) {
    const again = idsOf(await sendJson(other.postUrl, 'POST', lead({ ...changes, phone: spelling })))
    t.is(again.contact_id, first.contact_id)
    t.not(again.lead_id, first.lead_id)
    t.not(again.next_engagement_id, first.next_engagement_id)
  }
  const { additional_info, ...after } = await contactOf(account, first.contact_id)
  t.deepEqual(after, {
    ...(without(before, 'additional_info') as typeof after),
    first_name: 'Augusta',
    email: 'augusta@example.com',
  })
  t.like(additional_info, { colour: 'blue', size: 'L', gender: 'X' })
  t.deepEqual(after.referral, {
    marketing_source_id: account.sourceId,
    marketing_source_title: 'Search ads',
    lead_id: first.lead_id,
  })
})

test('a body of another type is 415', async (t) => {
  const account = await openAccount(site)
  const body = JSON.stringify(lead())
  const types = [
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/vnd.api+json',
    'json',
    '',
  ]
  for (const type of types) {
    const answer = await send(account.postUrl, { method: 'POST', headers: { 'content-type': type }, body })
    t.is(answer.status, 415, type)
    t.is(answer.body.errors?.length, 1, type)
  }
  t.is((await send(account.postUrl, { method: 'POST', body })).status, 415)
})

test('a body that can not be parsed is 400 with an errors list (contract 4.6.5)', async (t) => {
  const account = await openAccount(site)
  const headers = { 'content-type': 'application/json' }
  for (const body of ['{', '{"first_name":', 'first_name=Ada', '{"a":1,}', '{"a":NaN}', "{'a':1}", '{"a":"\t"}', ' ']) {
    const answer = await send(account.postUrl, { method: 'POST', headers, body })
    t.is(answer.status, 400, body)
    t.deepEqual(answer.body, { errors: ['the body is not valid JSON'] }, body)
  }
  for (const body of ['null', '1', '"x"', '""', '1.50', '[]', '[{}]']) {
    const answer = await send(account.postUrl, { method: 'POST', headers, body })
    t.is(answer.status, 400, body)
    t.deepEqual(answer.body, { errors: ['the submission must be an object of fields'] }, body)
  }
})

test('a submission without a body names what is missing', async (t) => {
  const account = await openAccount(site)
  for (const type of ['application/json', 'application/x-www-form-urlencoded', undefined]) {
    const headers = type === undefined ? {} : { 'content-type': type }
    const answer = await send(account.postUrl, { method: 'POST', headers })
    t.is(answer.status, 400, type)
    t.is(namedIn(answer).length, requiredFields.length, type)
  }
})

test('a body up to 100 kB is read, a larger one is 413', async (t) => {
  const account = await openAccount(site)
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(lead())
  t.is((await send(account.postUrl, { method: 'POST', headers, body: body.padEnd(102_400) })).status, 200)
  for (const size of [102_401, 200_000, 3_000_000]) {
    const answer = await send(account.postUrl, { method: 'POST', headers, body: body.padEnd(size) })
    t.is(answer.status, 413, `${size}`)
    t.is(answer.body.errors?.length, 1, `${size}`)
  }
  const form = `${new URLSearchParams(formLead()).toString()}&note=${'x'.repeat(102_400)}`
  t.is((await sendForm(account.postUrl, form)).status, 413)
})

test('a post URL that leads to no source is 404 with an errors list', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const { addSource } = other
  const theirs = await addSource()
  const unknown = [
    `${account.id}/${theirs.id}`,
    `${other.id}/${account.sourceId}`,
    `${account.id}/mks_${'0'.repeat(26)}`,
    `acc_${'0'.repeat(26)}/${account.sourceId}`,
    `${account.id}/${account.playbookId}`,
    `${account.sourceId}/${account.id}`,
    `${account.id}/${account.sourceId.toLowerCase()}`,
    'a/b',
    '%00/%ff',
  ]
  for (const path of unknown) {
    const answer = await sendJson(`${site.url}/marketing_sources/${path}`, 'POST', lead())
    t.is(answer.status, 404, path)
    t.is(answer.body.errors?.length, 1, path)
  }
  for (const path of ['', '/', `/${account.id}`, `/${account.id}/${account.sourceId}/leads`]) {
    t.is((await sendJson(`${site.url}/marketing_sources${path}`, 'POST', lead())).status, 404, path)
  }
  t.deepEqual([...(await leadsOf(account)), ...(await leadsOf(other, theirs.id))], [])
})

test('a suspended source is 403 until it is resumed', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource()
  const path = `/marketing_sources/${account.sourceId}`
  t.is((await account.manage('PATCH', path, { suspended: true })).status, 200)
  for (const fields of [lead(), {}]) {
    const answer = await account.submit(fields)
    t.is(answer.status, 403)
    t.is(answer.body.errors?.length, 1)
  }
  t.is((await sendJson(other.postUrl, 'POST', lead())).status, 200)
  t.is((await account.manage('PATCH', path, { suspended: false })).status, 200)
  t.is((await account.submit(lead())).status, 200)
  t.is((await leadsOf(account)).length, 1)
})

test('a disabled account takes no lead: 403 until it is enabled', async (t) => {
  const account = await openAccount(site)
  await account.manage('PATCH', '', { enabled: false })
  const answer = await account.submit(lead())
  t.is(answer.status, 403)
  t.is(answer.body.errors?.length, 1)
  await account.manage('PATCH', '', { enabled: true })
  t.is((await account.submit(lead())).status, 200)
})

test('the post URL needs no key, and one that is sent is not looked at (contract 5)', async (t) => {
  const account = await openAccount(site)
  t.is((await account.submit(lead(), { authorization: 'Bearer nonsense' })).status, 200)
})

test('methods other than POST are 405', async (t) => {
  const account = await openAccount(site)
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await send(account.postUrl, { method })
    t.is(answer.status, 405, method)
    t.is(answer.headers.allow, 'POST', method)
  }
})
