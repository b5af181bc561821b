import test from 'ava'
import { namedIn, send, sendJson, type Answer, type Managed, bearer, having } from '../kit/network/http.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { idsOf, manage, openAccount } from '../kit/service/account.js'
import { operatorKey } from '../kit/service/settings.js'
import { until } from '../kit/time/until.js'
import { longestDelivery } from '../kit/service/subscription.js'
import { nobody } from '../kit/domain/samples.js'
import { pages } from '../kit/service/pages.js'
import { receiverFor } from '../kit/network/receiver.js'

const site = serviceForFile()
const published = serviceForFile({ publicUrl: 'https://leads.example.com/base' })

const isInstant = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(value)

test('a missing or wrong operator key is 403 on every call', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const at = `/accounts/${account.id}`
  const calls = [
    ['POST', '/accounts'],
    ['PATCH', at],
    ['POST', `${at}/api_keys`],
    ['PATCH', `${at}/api_keys/${nobody('key')}`],
    ['DELETE', `${at}/api_keys/${nobody('key')}`],
    ['POST', `${at}/members`],
    ['DELETE', `${at}/members/${nobody('mbr')}`],
    ['POST', `${at}/playbooks`],
    ['GET', `${at}/playbooks`],
    ['PATCH', `${at}/playbooks/${account.playbookId}`],
    ['POST', `${at}/marketing_sources`],
    ['GET', `${at}/marketing_sources`],
    ['PATCH', `${at}/marketing_sources/${account.sourceId}`],
    ['GET', `${at}/marketing_sources/${account.sourceId}/leads`],
    ['POST', `${at}/conversions`],
    ['GET', `${at}/conversions`],
    ['POST', `${at}/webhooks`],
    ['GET', `${at}/webhooks`],
    ['PATCH', `${at}/webhooks/${nobody('whk')}`],
    ['DELETE', `${at}/webhooks/${nobody('whk')}`],
    ['POST', `${at}/webhooks/${nobody('whk')}/signing_secret`],
    ['POST', `${at}/webhooks/${nobody('whk')}/test`],
    ['POST', `${at}/webhooks/${nobody('whk')}/turn_on`],
    ['GET', `${at}/webhooks/${nobody('whk')}/deliveries`],
    ['GET', `${at}/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}`],
    ['POST', `${at}/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}/resend`],
    ['POST', `${at}/webhooks/${nobody('whk')}/resends`],
    ['GET', `${at}/webhooks/${nobody('whk')}/resends`],
    ['GET', `${at}/webhooks/${nobody('whk')}/resends/${nobody('rsd')}`],
    ['POST', `${at}/webhooks/${nobody('whk')}/resends/${nobody('rsd')}/cancel`],
    ['POST', `${at}/engagements/${next_engagement_id}/activities`],
    ['GET', `${at}/contacts/${contact_id}/timeline`],
  ] as const
  const wrong = [
    {},
    { authorization: 'Bearer' },
    { authorization: operatorKey },
    { authorization: `Basic ${operatorKey}` },
    bearer(`${operatorKey}x`),
    bearer(operatorKey.slice(1)),
    bearer(account.apiKey),
  ]
  for (const [method, path] of calls) {
    for (const headers of wrong) {
      const answer = await send(`${site.url}/manage/v1${path}`, { method, headers })
      t.is(answer.status, 403, `${method} ${path}`)
      t.is(answer.body.errors?.length, 1, `${method} ${path}`)
    }
  }
})

test('an unknown account is 404 on every call', async (t) => {
  const account = await openAccount(site)
  const calls = [
    ['PATCH', '', { enabled: true }],
    ['POST', '/api_keys', {}],
    ['PATCH', `/api_keys/${nobody('key')}`, { limit_per_minute: 1 }],
    ['DELETE', `/api_keys/${nobody('key')}`, undefined],
    ['POST', '/members', { email: 'a@example.com', role: 'admin' }],
    ['DELETE', `/members/${nobody('mbr')}`, undefined],
    ['POST', '/playbooks', { title: 'x' }],
    ['GET', '/playbooks', undefined],
    ['PATCH', `/playbooks/${account.playbookId}`, { title: 'x' }],
    ['POST', '/marketing_sources', { title: 'x', playbook_id: account.playbookId }],
    ['GET', '/marketing_sources', undefined],
    ['PATCH', `/marketing_sources/${account.sourceId}`, { suspended: true }],
    ['GET', `/marketing_sources/${account.sourceId}/leads`, undefined],
    ['POST', '/conversions', { title: 'x', value: 1 }],
    ['GET', '/conversions', undefined],
    ['POST', '/webhooks', { url: 'http://127.0.0.1/', token: 'x' }],
    ['GET', '/webhooks', undefined],
    ['DELETE', `/webhooks/${nobody('whk')}`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/signing_secret`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/test`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/turn_on`, { catch_up: true }],
    ['GET', `/webhooks/${nobody('whk')}/deliveries`, undefined],
    ['GET', `/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}/resend`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/resends`, { from: '2026-01-01', to: '2026-01-02' }],
    ['GET', `/webhooks/${nobody('whk')}/resends`, undefined],
    ['GET', `/webhooks/${nobody('whk')}/resends/${nobody('rsd')}`, undefined],
    ['POST', `/webhooks/${nobody('whk')}/resends/${nobody('rsd')}/cancel`, undefined],
    ['POST', `/engagements/${nobody('neg')}/activities`, { type: 'event', label: 'interested' }],
    ['GET', `/contacts/${nobody('nct')}/timeline`, undefined],
  ] as const
  for (const id of [nobody('acc'), 'acc_1', account.playbookId, account.id.toLowerCase(), '%00']) {
    for (const [method, path, body] of calls) {
      const answer = await manage(site, method, `/accounts/${id}${path}`, body)
      t.is(answer.status, 404, `${method} ${id}${path}`)
      t.deepEqual(answer.body, { message: 'account not found' }, `${method} ${id}${path}`)
    }
  }
})

test("another account's ids are 404 (contract 1)", async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const theirs = await other.submitted()
  const webhook = await other.addWebhook({ url: 'http://127.0.0.1:9/hook', token: 'x' })
  const { id: key } = await other.issueKey()
  const member = having(await other.manage('POST', '/members', { email: 'a@example.com', role: 'admin' }), 'member').id
  const calls = [
    ['PATCH', `/api_keys/${key}`, { limit_per_minute: 1 }, 'API key not found'],
    ['DELETE', `/api_keys/${key}`, undefined, 'API key not found'],
    ['DELETE', `/members/${member}`, undefined, 'member not found'],
    ['PATCH', `/playbooks/${other.playbookId}`, { title: 'Mine' }, 'playbook not found'],
    ['POST', '/marketing_sources', { title: 'x', playbook_id: other.playbookId }, 'playbook not found'],
    ['PATCH', `/marketing_sources/${other.sourceId}`, { suspended: true }, 'marketing source not found'],
    ['PATCH', `/marketing_sources/${other.sourceId}`, {}, 'marketing source not found'],
    ['GET', `/marketing_sources/${other.sourceId}/leads`, undefined, 'marketing source not found'],
    [
      'POST',
      '/webhooks',
      { url: 'http://127.0.0.1/', token: 'x', playbook_id: other.playbookId },
      'playbook not found',
    ],
    ['PATCH', `/webhooks/${webhook}`, { events: [] }, 'webhook not found'],
    ['DELETE', `/webhooks/${webhook}`, undefined, 'webhook not found'],
    ['GET', `/webhooks/${webhook}/deliveries`, undefined, 'webhook not found'],
    [
      'POST',
      `/engagements/${theirs.next_engagement_id}/activities`,
      { type: 'event', label: 'interested' },
      'engagement not found',
    ],
    ['GET', `/contacts/${theirs.contact_id}/timeline`, undefined, 'contact not found'],
  ] as const
  for (const [method, path, body, message] of calls) {
    const answer = await account.manage(method, path, body)
    t.is(answer.status, 404, `${method} ${path}`)
    t.deepEqual(answer.body, { message }, `${method} ${path}`)
  }
  const sources = having(await other.manage('GET', '/marketing_sources'), 'marketing_sources')
  t.is(sources[0]?.['suspended'], false)
  t.is(having(await other.manage('GET', '/webhooks'), 'webhooks').length, 1)
})

test('unknown and malformed ids are 404', async (t) => {
  const account = await openAccount(site)
  const paths = [
    ['PATCH', '/api_keys/', 'key', { limit_per_minute: 1 }],
    ['DELETE', '/api_keys/', 'key', undefined],
    ['DELETE', '/members/', 'mbr', undefined],
    ['PATCH', '/playbooks/', 'ply', { title: 'x' }],
    ['PATCH', '/marketing_sources/', 'mks', { suspended: true }],
    ['PATCH', '/webhooks/', 'whk', { events: [] }],
    ['DELETE', '/webhooks/', 'whk', undefined],
  ] as const
  for (const [method, path, prefix, body] of paths) {
    for (const id of [nobody(prefix), `${prefix}_1`, account.id, '%E0%A4%A', 'x']) {
      const answer = await account.manage(method, path + id, body)
      t.is(answer.status, 404, `${method} ${path}${id}`)
      t.is(typeof answer.body.message, 'string', `${method} ${path}${id}`)
    }
  }
  for (const id of [nobody('neg'), 'neg_1', account.id]) {
    t.is((await account.report(id, 'event', 'interested')).status, 404)
  }
})

test('opening an account gives its id, a key and a standard playbook', async (t) => {
  const answer = await manage(site, 'POST', '/accounts', { title: '  Example Agency  ' })
  t.is(answer.status, 201)
  const account = having(answer, 'account')
  t.regex(account.id, /^acc_/)
  t.like(account, { title: 'Example Agency', enabled: true })
  const key = having(answer, 'api_key') as string
  t.is((await send(`${site.url}/api/v3/conversions`, { headers: bearer(key) })).status, 200)
  const playbooks = having(await manage(site, 'GET', `/accounts/${account.id}/playbooks`), 'playbooks')
  t.deepEqual(
    playbooks.map(({ id }) => id),
    [having(answer, 'playbook').id],
  )
  t.is((playbooks[0]?.['required_fields'] as ReadonlyArray<string>).length, 14)
})

type Wrong = readonly [path: string, body: unknown, named: ReadonlyArray<string>]

/** POST bodies and the fields that their refusals name. */
const wrongBodies: ReadonlyArray<Wrong> = [
  ['/members', {}, ['email', 'role']],
  ['/members', { email: 'nobody', role: 'admin' }, ['email']],
  ['/members', { email: 'a@example.com', role: 'owner' }, ['role']],
  ['/members', { email: null, role: null }, ['email', 'role']],
  ['/api_keys', { limit_per_minute: 0 }, ['limit_per_minute']],
  ['/api_keys', { limit_per_minute: 1.5 }, ['limit_per_minute']],
  ['/api_keys', { limit_per_minute: '5' }, ['limit_per_minute']],
  ['/playbooks', {}, ['title']],
  ['/playbooks', { title: '  ' }, ['title']],
  ['/playbooks', { title: 'x', required_fields: 'email' }, ['required_fields']],
  ['/playbooks', { title: 'x', required_fields: ['email', ''] }, ['required_fields.1']],
  [
    '/playbooks',
    { title: 'x', steps: [{ message: '', delay_minutes: -1 }] },
    ['steps.0.message', 'steps.0.delay_minutes'],
  ],
  ['/playbooks', { title: 'x', steps: [{ message: 'Hi', delay_minutes: 0.5 }] }, ['steps.0.delay_minutes']],
  ['/playbooks', { title: 'x', quiet_hours: '21-8' }, ['quiet_hours']],
  ['/playbooks', { title: 'x', give_up_after_minutes: 'week' }, ['give_up_after_minutes']],
  ['/marketing_sources', {}, ['title', 'playbook_id']],
  ['/marketing_sources', { title: 'x', playbook_id: 'ply_1' }, ['playbook_id']],
  ['/marketing_sources', { title: 5, playbook_id: nobody('ply') }, ['title']],
  ['/marketing_sources', { title: 'x', playbook_id: nobody('ply'), originator_field: ' ' }, ['originator_field']],
  ['/conversions', {}, ['title', 'value']],
  ['/conversions', { title: '', value: 5 }, ['title']],
  ['/conversions', { title: 'x', value: -1 }, ['value']],
  ['/conversions', { title: 'x', value: 1.5 }, ['value']],
  ['/conversions', { title: 'x', value: '5' }, ['value']],
  ['/webhooks', {}, ['url', 'token']],
  ['/webhooks', { url: 'nowhere', token: 'x' }, ['url']],
  ['/webhooks', { url: 'ftp://example.com/', token: 'x' }, ['url']],
  ['/webhooks', { url: 'javascript:alert(1)', token: 'x' }, ['url']],
  ['/webhooks', { url: 'http://user:secret@127.0.0.1/', token: 'x' }, ['url']],
  ['/webhooks', { url: `http://127.0.0.1/${'x'.repeat(2_048)}`, token: 'x' }, ['url']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: '' }, ['token']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'two words' }, ['token']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'line\r\nbreak' }, ['token']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'é' }, ['token']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'x', events: 'sold' }, ['events']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'x', events: ['sold', 'bought'] }, ['events.1']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'x', format: 'xml' }, ['format']],
  ['/webhooks', { url: 'http://127.0.0.1/', token: 'x', playbook_id: 'all' }, ['playbook_id']],
]

/** What a library calls a type where nobody has named it. */
const typeName = /[<>|]|\b(?:string|unknown|undefined|never)\b|Array|Record|Partial/

test('what a value must be is said in plain words, for every field of every call', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const webhook = await account.addWebhook({ url: 'http://127.0.0.1:9/', token: 'x' })
  const key = await account.issueKey()
  const playbook = ['title', 'required_fields', 'steps', 'quiet_hours', 'reply_rules', 'days', 'give_up_after_minutes']
  const settings = ['url', 'token', 'events', 'format']
  const calls: ReadonlyArray<readonly [method: string, path: string, fields: ReadonlyArray<string>]> = [
    ['PATCH', '', ['enabled']],
    ['POST', '/api_keys', ['limit_per_minute']],
    ['PATCH', `/api_keys/${key.id}`, ['limit_per_minute']],
    ['POST', '/members', ['email', 'role']],
    [
      'PUT',
      '/messaging',
      ['accepted_consent_hosts', 'provider_answers_keywords', 'help_text', 'sender', 'segments_per_month'],
    ],
    ['POST', '/playbooks', playbook],
    ['PATCH', `/playbooks/${account.playbookId}`, playbook],
    ['POST', `/playbooks/${account.playbookId}/preview`, ['lead', 'at']],
    ['POST', '/marketing_sources', ['title', 'playbook_id', 'originator_field']],
    ['PATCH', `/marketing_sources/${account.sourceId}`, ['suspended', 'limit_per_minute']],
    ['POST', '/conversions', ['title', 'value']],
    ['POST', '/webhooks', [...settings, 'playbook_id']],
    ['PATCH', `/webhooks/${webhook}`, settings],
    ['POST', `/webhooks/${webhook}/turn_on`, ['catch_up']],
    ['POST', `/webhooks/${webhook}/resends`, ['from', 'to']],
    ['POST', `/engagements/${next_engagement_id}/activities`, ['type', 'label', 'note', 'properties']],
    ['POST', `/engagements/${next_engagement_id}/messages`, ['text']],
    ['POST', `/contacts/${contact_id}/messages`, ['text']],
    ['POST', `/contacts/${contact_id}/erase`, ['by']],
  ]
  const values = [7.5, 'x', true, [], [7.5], [[]], [{ words: 7.5, message: 7.5 }], { from: 7.5 }]
  const errors = new Set<string>()
  const told = async (answer: Promise<Answer>) => {
    for (const error of (await answer).body.errors ?? []) errors.add(error)
  }
  for (const [method, path, fields] of calls) {
    for (const body of [[], 7.5]) await told(account.manage(method, path, body))
    for (const value of values) {
      await told(account.manage(method, path, Object.fromEntries(fields.map((name) => [name, value]))))
    }
  }
  for (const body of [[], { read_models: 7.5 }, { read_models: [7.5] }]) {
    await told(manage(site, 'POST', '/rebuilds', body))
  }
  t.deepEqual(
    [...errors].filter((error) => typeName.test(error)),
    [],
  )
  t.true(errors.size > 50)
})

test('a wrong body is 400, names every wrong field, and creates nothing', async (t) => {
  const account = await openAccount(site)
  for (const [path, body, named] of wrongBodies) {
    const answer = await account.manage('POST', path, body)
    t.is(answer.status, 400, `${path} ${JSON.stringify(body)}`)
    t.deepEqual([...namedIn(answer)].sort(), [...named].sort(), `${path} ${JSON.stringify(body)}`)
  }
  for (const body of [{}, { title: '' }, { title: null }, { title: 5 }]) {
    const answer = await manage(site, 'POST', '/accounts', body)
    t.is(answer.status, 400)
    t.deepEqual(namedIn(answer), ['title'])
  }
  t.is(having(await account.manage('GET', '/playbooks'), 'playbooks').length, 1)
  t.is(having(await account.manage('GET', '/marketing_sources'), 'marketing_sources').length, 1)
  t.is(having(await account.manage('GET', '/conversions'), 'conversions').length, 2)
  t.deepEqual(having(await account.manage('GET', '/webhooks'), 'webhooks'), [])
})

test('a refusal says what would be right, and names nothing that is', async (t) => {
  const account = await openAccount(site)
  const { id: key } = await account.issueKey()
  const refusals = [
    [
      await account.manage('PATCH', `/marketing_sources/${account.sourceId}`, { limit_per_minute: 0 }),
      /^limit_per_minute must be a whole number/,
    ],
    [
      await account.manage('PATCH', `/api_keys/${key}`, { limit_per_minute: 0 }),
      /^limit_per_minute must be a whole number/,
    ],
    [await account.manage('PATCH', `/api_keys/${key}`, {}), /^limit_per_minute must be a whole number/],
    [
      await account.manage('POST', '/playbooks', { title: 'x', quiet_hours: 'none' }),
      /^quiet_hours must be quiet hours/,
    ],
    [
      await account.manage('POST', '/playbooks', { title: 'x', quiet_hours: { from: '21:00', to: '24:00' } }),
      /^quiet_hours\.to must be a time of day/,
    ],
  ] as const
  for (const [{ status, body }, expected] of refusals) {
    t.is(status, 400)
    t.is(body.errors?.length, 1, body.errors?.join())
    t.regex(body.errors?.[0] ?? '', expected)
  }
})

test('invalid JSON is 400 with an error text, another type 400, a large body 413', async (t) => {
  const headers = { 'content-type': 'application/json', ...bearer(operatorKey) }
  const path = `${site.url}/manage/v1/accounts`
  const invalid = await send(path, { method: 'POST', headers, body: '{' })
  t.is(invalid.status, 400)
  t.deepEqual(invalid.body, { error: 'the body is not valid JSON' })
  const type = await send(path, { method: 'POST', headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' })
  t.is(type.status, 400)
  t.is((await send(path, { method: 'POST', headers, body: '{"title":"x"}'.padEnd(102_401) })).status, 413)
})

test('valid JSON that is no object is 400 with an errors list, also where a body may be left out', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  for (const path of ['/members', '/api_keys', `/contacts/${contact_id}/erase`]) {
    for (const body of [null, 1, 'x', '', []]) {
      const answer = await account.manage('POST', path, body)
      t.is(answer.status, 400, path)
      t.regex(answer.body.errors?.join() ?? '', /^the body must be /, path)
    }
  }
  t.is((await account.rest(`/contacts/${contact_id}`)).status, 200)
  t.is((await account.manage('POST', '/api_keys')).status, 201)
})

test('enabling and disabling an account may be repeated', async (t) => {
  const account = await openAccount(site)
  for (const enabled of [true, false, false, true, true]) {
    const answer = await account.manage('PATCH', '', { enabled })
    t.is(answer.status, 200)
    t.like(having(answer, 'account'), { id: account.id, enabled })
    t.is((await account.rest('/conversions')).status, enabled ? 200 : 403)
  }
  for (const body of [{}, { enabled: null }, { enabled: 'yes' }, { enabled: 1 }]) {
    const answer = await account.manage('PATCH', '', body)
    t.is(answer.status, 400)
    t.deepEqual(namedIn(answer), ['enabled'])
  }
})

test('an API key is shown once, with its id and limit', async (t) => {
  const account = await openAccount(site)
  const answer = await account.manage('POST', '/api_keys', { limit_per_minute: 600 })
  t.is(answer.status, 201)
  const key = having(answer, 'api_key') as Managed
  t.regex(key.id, /^key_/)
  t.is(key['limit_per_minute'], 600)
  const changed = await account.manage('PATCH', `/api_keys/${key.id}`, { limit_per_minute: null })
  t.is(changed.status, 200)
  t.false(changed.text.includes(having(answer, 'secret')))
  for (const body of [{}, { limit_per_minute: -1 }, { limit_per_minute: 'none' }]) {
    const wrong = await account.manage('PATCH', `/api_keys/${key.id}`, body)
    t.is(wrong.status, 400, JSON.stringify(body))
    t.deepEqual(namedIn(wrong), ['limit_per_minute'])
  }
  const bare = await send(`${site.url}/manage/v1/accounts/${account.id}/api_keys`, {
    method: 'POST',
    headers: bearer(operatorKey),
  })
  t.is(bare.status, 201)
})

test('a member is added with a role, and once only', async (t) => {
  const account = await openAccount(site)
  for (const role of ['admin', 'manager', 'agent']) {
    const answer = await account.manage('POST', '/members', { email: `${role}@example.com`, role })
    t.is(answer.status, 201)
    const member = having(answer, 'member')
    t.regex(member.id, /^mbr_/)
    t.like(member, { email: `${role}@example.com`, role })
  }
  const again = await account.manage('POST', '/members', { email: 'ADMIN@example.com', role: 'agent' })
  t.is(again.status, 409)
  t.is(again.body.errors?.length, 1)
  t.false(again.text.toLowerCase().includes('admin@example.com'))
})

test('a member is removed once, is 404 then, and may be added again', async (t) => {
  const account = await openAccount(site)
  const asked = { email: 'grace@example.com', role: 'manager' }
  const { id } = having(await account.manage('POST', '/members', asked), 'member')
  t.is((await account.manage('DELETE', `/members/${id}`)).status, 200)
  t.is((await account.manage('DELETE', `/members/${id}`)).status, 404)
  t.is((await account.manage('POST', '/members', asked)).status, 201)
})

test('a playbook is created with what was sent and the standard for the rest, and changed in part', async (t) => {
  const account = await openAccount(site)
  const asked = {
    title: 'Boats',
    required_fields: ['first_name', 'boat_length'],
    steps: [{ message: 'Hello {first_name}', delay_minutes: 5 }],
    quiet_hours: null,
    give_up_after_minutes: 60,
  }
  const answer = await account.manage('POST', '/playbooks', asked)
  t.is(answer.status, 201)
  const playbook = having(answer, 'playbook')
  t.like(playbook, asked)
  t.regex(playbook.id, /^ply_/)
  t.true(isInstant(playbook.created_at))
  const listed = async () =>
    having(await account.manage('GET', '/playbooks'), 'playbooks').find(({ id }) => id === playbook.id)
  t.deepEqual(await listed(), playbook)
  const change = await account.manage('PATCH', `/playbooks/${playbook.id}`, {
    title: 'Ships',
    quiet_hours: { from: '20:00', to: '07:30' },
  })
  t.is(change.status, 200)
  const changed = { ...asked, title: 'Ships', quiet_hours: { from: '20:00', to: '07:30' } }
  t.like(having(change, 'playbook'), changed)
  t.like(await listed(), changed)
  const standard = having(await account.manage('POST', '/playbooks', { title: 'Standard' }), 'playbook')
  const [first] = having(await account.manage('GET', '/playbooks'), 'playbooks')
  t.deepEqual({ ...standard, ...idAndTitle }, { ...first, ...idAndTitle } as typeof standard)
  const wrong = await account.manage('PATCH', `/playbooks/${playbook.id}`, { steps: [{}] })
  t.deepEqual([...namedIn(wrong)].sort(), ['steps.0.delay_minutes', 'steps.0.message'])
})

const idAndTitle = { id: '', title: '', created_at: '' }

test('a marketing source has a post URL of its own that takes leads (contract 2.6)', async (t) => {
  const account = await openAccount(site)
  const asked = { title: 'Partner', playbook_id: account.playbookId, originator_field: 'ref' }
  const answer = await account.manage('POST', '/marketing_sources', asked)
  t.is(answer.status, 201)
  const source = having(answer, 'marketing_source')
  t.regex(source.id, /^mks_/)
  t.like(source, { ...asked, suspended: false, limit_per_minute: null })
  t.is(source.post_url, `${site.url}/marketing_sources/${account.id}/${source.id}`)
  t.is((await sendJson(source.post_url, 'POST', lead())).status, 200)
  const sources = having(await account.manage('GET', '/marketing_sources'), 'marketing_sources')
  t.deepEqual(
    sources.map(({ id }) => id),
    [account.sourceId, source.id],
  )
  t.like(sources[1], { ...asked, post_url: source.post_url })
  t.true(isInstant(sources[1]?.created_at))
})

test('post URLs begin with the public URL where one is set', async (t) => {
  const opened = await manage(published, 'POST', '/accounts', { title: 'x' })
  const at = `/accounts/${having(opened, 'account').id}/marketing_sources`
  const asked = { title: 'x', playbook_id: having(opened, 'playbook').id }
  const { post_url } = having(await manage(published, 'POST', at, asked), 'marketing_source')
  t.true(post_url.startsWith('https://leads.example.com/base/marketing_sources/acc_'), post_url)
  const [listed] = having(await manage(published, 'GET', at), 'marketing_sources')
  t.is(listed?.['post_url'], post_url)
})

test('a source is suspended and limited in one call, and a wrong change is 400 and named', async (t) => {
  const account = await openAccount(site)
  const path = `/marketing_sources/${account.sourceId}`
  const answer = await account.manage('PATCH', path, { suspended: true, limit_per_minute: 60 })
  t.is(answer.status, 200)
  t.like(having(answer, 'marketing_source'), { id: account.sourceId, suspended: true, limit_per_minute: 60 })
  const lifted = await account.manage('PATCH', path, { limit_per_minute: null })
  t.like(having(lifted, 'marketing_source'), { suspended: true, limit_per_minute: null })
  for (const [body, named] of [
    [{ suspended: 'yes' }, ['suspended']],
    [{ limit_per_minute: 0 }, ['limit_per_minute']],
    [{ suspended: 1, limit_per_minute: '5' }, ['limit_per_minute', 'suspended']],
  ] as const) {
    const wrong = await account.manage('PATCH', path, body)
    t.is(wrong.status, 400, JSON.stringify(body))
    t.deepEqual([...namedIn(wrong)].sort(), [...named], JSON.stringify(body))
  }
})

test('a custom conversion is created and listed with its label (contract 2.2)', async (t) => {
  const account = await openAccount(site)
  const answer = await account.manage('POST', '/conversions', { title: ' Renewed ', value: 900 })
  t.is(answer.status, 201)
  const conversion = having(answer, 'conversion')
  t.regex(conversion.id, /^cnv_/)
  t.like(conversion, { title: 'Renewed', value: 900 })
  t.true(isInstant(conversion.created_at))
  const conversions = having(await account.manage('GET', '/conversions'), 'conversions')
  t.deepEqual(
    conversions.map(({ title }) => title),
    ['Quoted', 'Sold', 'Renewed'],
  )
  t.like(conversions[2], conversion)
})

test('a webhook is shown with its settings and state, and never with its token (contract 5)', async (t) => {
  const account = await openAccount(site)
  const asked = {
    url: 'http://127.0.0.1:9/hook',
    events: ['sold', 'started', 'sold'],
    format: 'flat',
    playbook_id: account.playbookId,
  }
  const answer = await account.manage('POST', '/webhooks', { ...asked, token: 'hook-token-zz' })
  t.is(answer.status, 201)
  const webhook = having(answer, 'webhook')
  t.regex(webhook.id, /^whk_/)
  t.like(webhook, { ...asked, events: ['sold', 'started'], state: 'on' })
  const changed = await account.manage('PATCH', `/webhooks/${webhook.id}`, { token: 'hook-token-yy', format: 'agent' })
  t.is(changed.status, 200)
  t.like(having(changed, 'webhook'), { url: asked.url, format: 'agent', events: ['sold', 'started'], state: 'on' })
  const list = await account.manage('GET', '/webhooks')
  t.like(having(list, 'webhooks')[0], { id: webhook.id, url: asked.url, format: 'agent', state: 'on' })
  for (const { text } of [answer, changed, list]) t.notRegex(text, /hook-token|sealed/)
  const plain = having(await account.manage('POST', '/webhooks', { url: asked.url, token: 'x' }), 'webhook')
  t.like(plain, { events: [], format: 'agent', playbook_id: null, state: 'on' })
  for (const [body, named] of [
    [{ url: 'nowhere' }, 'url'],
    [{ token: 'a b' }, 'token'],
    [{ events: ['bought'] }, 'events.0'],
    [{ format: 'xml' }, 'format'],
  ] as const) {
    const wrong = await account.manage('PATCH', `/webhooks/${webhook.id}`, body)
    t.is(wrong.status, 400, named)
    t.deepEqual(namedIn(wrong), [named])
  }
})

test('an account has a hundred webhooks at most, and one that is removed makes room', async (t) => {
  const [account, other] = await Promise.all([openAccount(site), openAccount(site)])
  const asked = { url: 'http://127.0.0.1:9/hook', token: 'x' }
  const [first] = await Promise.all(Array.from({ length: 100 }, () => account.addWebhook(asked)))
  const refused = await account.manage('POST', '/webhooks', asked)
  t.is(refused.status, 409)
  t.deepEqual(refused.body.errors, ['the account has as many webhooks as it may have, which are 100: remove one first'])
  t.is((await account.manage('PATCH', `/webhooks/${first}`, { events: ['sold'] })).status, 200)
  t.is((await other.manage('POST', '/webhooks', asked)).status, 201)
  t.is((await account.manage('DELETE', `/webhooks/${first}`)).status, 200)
  t.is((await account.manage('POST', '/webhooks', asked)).status, 201)
  t.is((await account.manage('POST', '/webhooks', asked)).status, 409)
})

test('a removed webhook is 404 from then on, its log aside', async (t) => {
  const account = await openAccount(site)
  const id = await account.addWebhook({ url: 'http://127.0.0.1:9/hook', token: 'x' })
  t.is((await account.manage('DELETE', `/webhooks/${id}`)).status, 200)
  t.is((await account.manage('DELETE', `/webhooks/${id}`)).status, 404)
  t.is((await account.manage('PATCH', `/webhooks/${id}`, { events: [] })).status, 404)
  t.is((await account.manage('GET', `/webhooks/${id}/resends`)).status, 404)
  t.deepEqual(having(await account.manage('GET', `/webhooks/${id}/deliveries`), 'deliveries'), [])
  t.deepEqual(having(await account.manage('GET', '/webhooks'), 'webhooks'), [])
})

test('what is reported must be a label of its type, and none that the service fires itself (contract 6.4)', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const mismatched = [
    ['event', 'qualified'],
    ['outcome', 'interested'],
    ['conversion', 'started'],
  ] as const
  for (const [type, label] of mismatched) {
    const answer = await account.report(next_engagement_id, type, label)
    t.is(answer.status, 400, label)
    t.deepEqual(namedIn(answer), ['label'])
  }
  for (const [type, label] of [
    ['event', 'started'],
    ['outcome', 'filtered'],
    ['conversion', 'quoted'],
    ['conversion', 'sold'],
    ['conversion', 'custom_conversion'],
  ] as const) {
    t.is((await account.report(next_engagement_id, type, label)).status, 422, label)
  }
  const wrong: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
    [{}, ['label', 'type']],
    [{ type: 'call', label: 'rang' }, ['label', 'type']],
    [{ type: 'event', label: 'interested', note: 5 }, ['note']],
    [{ type: 'event', label: 'interested', properties: 'none' }, ['properties']],
    [{ type: 'event', label: 'interested', properties: [1] }, ['properties']],
  ]
  for (const [body, named] of wrong) {
    const answer = await account.manage('POST', `/engagements/${next_engagement_id}/activities`, body)
    t.is(answer.status, 400, JSON.stringify(body))
    t.deepEqual([...namedIn(answer)].sort(), named, JSON.stringify(body))
  }
})

test('an outcome ends the conversation: another outcome is 409, an event is still accepted', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const answer = await account.report(next_engagement_id, 'outcome', 'not_interested')
  t.is(answer.status, 201)
  t.like(having(answer, 'activity'), { type: 'outcome', label: 'not_interested', next_engagement_id })
  t.true(isInstant(having(answer, 'activity').created_at))
  const again = await account.report(next_engagement_id, 'outcome', 'qualified')
  t.is(again.status, 409)
  t.is(again.body.errors?.length, 1)
  t.is((await account.report(next_engagement_id, 'event', 'phone_call_received')).status, 201)
})

test('the timeline has every lead, activity, conversion and delivery in order', async (t) => {
  const account = await openAccount(site)
  const receiver = await receiverFor(t)
  await account.addWebhook({ url: receiver.url, token: 'x', events: ['sold'] })
  const phone = newPhone()
  const first = await account.submitted({ phone })
  await account.report(first.next_engagement_id, 'event', 'interested', {
    note: 'By phone',
    properties: { seconds: 5 },
  })
  const second = await account.submitted({ phone })
  const { sold } = await account.standardConversions()
  await account.record(sold, { contact_id: first.contact_id, custom_value: 7, converted_at: '2020-01-01T00:00:00Z' })
  await receiver.received(1)
  // The read model of the timeline may show a delivery a moment after it was posted.
  const entries = await until(
    'the delivery is on the timeline',
    longestDelivery,
    async () => having(await account.manage('GET', `/contacts/${first.contact_id}/timeline`), 'timeline'),
    (seen) => seen.some(({ kind }) => kind === 'delivery'),
  )
  t.deepEqual(
    entries.map(({ kind, label }) => (typeof label === 'string' ? `${kind} ${label}` : kind)),
    [
      'lead',
      'activity started',
      'activity interested',
      'lead',
      'activity started',
      'conversion',
      'activity sold',
      'delivery sold',
    ],
  )
  t.like(entries[0], {
    lead_id: first.lead_id,
    source_id: account.sourceId,
    next_engagement_id: first.next_engagement_id,
  })
  t.like(entries[2], { type: 'event', note: 'By phone', properties: { seconds: 5 } })
  t.like(entries[3], { lead_id: second.lead_id })
  t.like(entries[5], { conversion_id: sold, value: 7, title: 'Sold', at: '2020-01-01T00:00:00.000Z' })
  t.true(entries.every(({ at }) => isInstant(at)))
  const shown = JSON.stringify(entries)
  t.deepEqual(
    ['Ada', 'example.com', phone.slice(2)].filter((value) => shown.includes(value)),
    [],
    'ids, no personal value',
  )
})

test('lists are paged by cursor without gap or repeat', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const ids = []
  for (let n = 0; n < 7; n += 1) ids.push(await account.submitted({ phone }))
  const [one] = ids
  for (let n = 0; n < 5; n += 1) await account.report(one?.next_engagement_id ?? '', 'event', 'phone_call_missed')

  const leads = await pages(account, `/marketing_sources/${account.sourceId}/leads?limit=3`, 'leads')
  t.deepEqual(
    leads.map((page) => page.length),
    [3, 3, 1],
  )
  t.deepEqual(
    leads.flat().map(({ id }) => id),
    ids.map(({ lead_id }) => lead_id).reverse(),
  )

  const path = `/contacts/${one?.contact_id ?? ''}/timeline`
  const timeline = await pages(account, `${path}?limit=4`, 'timeline')
  const whole = having(await account.manage('GET', `${path}?limit=500`), 'timeline')
  t.deepEqual(timeline.flat(), whole)
  t.is(whole.length, 7 + 7 + 5)
})

test('a page that is exactly full has no next one unless there is more', async (t) => {
  const account = await openAccount(site)
  for (let n = 0; n < 4; n += 1) await account.submitted()
  t.deepEqual(
    (await pages(account, `/marketing_sources/${account.sourceId}/leads?limit=2`, 'leads')).map((page) => page.length),
    [2, 2],
  )
  const all = await account.manage('GET', `/marketing_sources/${account.sourceId}/leads?limit=4`)
  t.is(all.body.next_cursor, null)
})

test('a cursor is good for the list and the filter that gave it, and for no other: it would seem to be at its end', async (t) => {
  const account = await openAccount(site)
  const other = having(
    await account.manage('POST', '/marketing_sources', { title: 'Other', playbook_id: account.playbookId }),
    'marketing_source',
  )
  const steps = [{ message: 'Hi', delay_minutes: 60 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps })
  const { contact_id } = await account.submitted()
  await account.submitted()
  const leads = `/marketing_sources/${account.sourceId}/leads`
  const cursorOf = async (path: string) => {
    const { body } = await account.manage('GET', path)
    t.is(typeof body.next_cursor, 'string', path)
    return body.next_cursor ?? ''
  }
  const ofLeads = await cursorOf(`${leads}?limit=1`)
  const ofTimeline = await cursorOf(`/contacts/${contact_id}/timeline?limit=1`)
  const ofRunning = await cursorOf('/follow_ups?limit=1')
  for (const path of [
    `${leads}?cursor=${ofTimeline}`,
    `/marketing_sources/${other.id}/leads?cursor=${ofLeads}`,
    `/contacts/${contact_id}/timeline?cursor=${ofLeads}`,
    `/follow_ups?state=ended&cursor=${ofRunning}`,
    `/follow_ups?playbook_id=${account.playbookId}&cursor=${ofRunning}`,
  ]) {
    const answer = await account.manage('GET', path)
    t.is(answer.status, 400, path)
    t.deepEqual(namedIn(answer), ['cursor'], path)
  }
  t.is(having(await account.manage('GET', `${leads}?limit=2&cursor=${ofLeads}`), 'leads').length, 1)
  t.is((await account.manage('GET', `/follow_ups?state=running&cursor=${ofRunning}`)).status, 200)
})

test('a page has 50 entries by default, and a wrong limit or cursor is 400 and named', async (t) => {
  const account = await openAccount(site)
  const answers = await Promise.all(Array.from({ length: 51 }, () => account.submit(lead())))
  t.true(answers.every((answer) => idsOf(answer).lead_id !== ''))
  const path = `/marketing_sources/${account.sourceId}/leads`
  const first = await account.manage('GET', path)
  t.is(having(first, 'leads').length, 50)
  t.is(typeof first.body.next_cursor, 'string')
  for (const limit of ['0', '-1', '501', '1.5', 'x', '', '1e2', ' 5']) {
    const answer = await account.manage('GET', `${path}?limit=${encodeURIComponent(limit)}`)
    t.is(answer.status, 400, limit)
    t.deepEqual(namedIn(answer), ['limit'], limit)
  }
  for (const cursor of ['x', 'null', '[]', 'W10', 'WzFd', 'W251bGwsMV0', 'W251bGwsMSwiIl0', '%00']) {
    const answer = await account.manage('GET', `${path}?cursor=${cursor}`)
    t.is(answer.status, 400, cursor)
    t.deepEqual(namedIn(answer), ['cursor'], cursor)
  }
})

test('other methods on a path of the management API are 405 with what is allowed', async (t) => {
  const account = await openAccount(site)
  for (const [method, path, allow] of [
    ['GET', '/accounts', /POST/],
    ['PUT', `/accounts/${account.id}`, /PATCH/],
    ['DELETE', `/accounts/${account.id}/playbooks`, /GET.*POST|POST.*GET/],
  ] as const) {
    const answer = await manage(site, method, path)
    t.is(answer.status, 405, path)
    t.regex(answer.headers.allow ?? '', allow, path)
  }
})

test('a parameter that a path does not take is refused and named: a misspelt filter would show everything', async (t) => {
  const account = await openAccount(site)
  const errorsOf = async (path: string) => {
    const { status, body } = await manage(site, 'GET', path)
    t.is(status, 400, path)
    return (body as { readonly errors: ReadonlyArray<string> }).errors
  }
  const own = `/accounts/${account.id}`
  t.deepEqual(await errorsOf('/events?acount=1&limit=1'), ['acount is no parameter of this path'])
  t.deepEqual(await errorsOf(`/events?account=${account.id}&kind=1&constructor=2`), [
    'kind is no parameter of this path',
    'constructor is no parameter of this path',
  ])
  for (const path of [
    '/parked',
    '/rebuilds',
    `${own}/follow_ups`,
    `${own}/usage`,
    `${own}/webhooks`,
    `${own}/playbooks`,
  ])
    t.deepEqual(await errorsOf(`${path}?sate=x`), ['sate is no parameter of this path'])
  t.deepEqual(await errorsOf('/parked?ada%40example.com'), ['a name that was sent is no parameter of this path'])
  t.is((await account.rest('/conversions?sate=x')).status, 200)
})

test('a field that a request does not take is refused and named: nobody takes for done what was not', async (t) => {
  const account = await openAccount(site)
  const own = `/accounts/${account.id}`
  const { id } = having(
    await account.manage('POST', '/webhooks', { url: 'http://127.0.0.1:1/', token: 'x' }),
    'webhook',
  )
  const { contact_id, next_engagement_id } = await account.submitted()
  const [engagement, contact] = [`${own}/engagements/${next_engagement_id}`, `${own}/contacts/${contact_id}`]
  const [webhook, playbook] = [`${own}/webhooks/${id}`, `${own}/playbooks/${account.playbookId}`]
  const period = { from: '2026-01-01', to: '2026-01-02' }
  const settings = { url: 'http://127.0.0.1:1/', token: 'x' }
  const source = { title: 'x', playbook_id: account.playbookId }
  const requests: ReadonlyArray<readonly [string, string, object]> = [
    ['POST', '/accounts', { title: 'x' }],
    ['PATCH', own, { enabled: true }],
    ['POST', `${own}/api_keys`, {}],
    ['PATCH', `${own}/api_keys/${nobody('key')}`, { limit_per_minute: null }],
    ['PUT', `${own}/messaging`, { help_text: null }],
    ['POST', `${own}/members`, { email: 'ada@example.com', role: 'agent' }],
    ['POST', `${own}/playbooks`, { title: 'x' }],
    ['PATCH', playbook, { title: 'x' }],
    ['POST', `${playbook}/preview`, {}],
    ['POST', `${own}/marketing_sources`, source],
    ['PATCH', `${own}/marketing_sources/${account.sourceId}`, { suspended: false }],
    ['POST', `${own}/conversions`, { title: 'x', value: 1 }],
    ['POST', `${own}/webhooks`, settings],
    ['PATCH', webhook, {}],
    ['POST', `${webhook}/turn_on`, { catch_up: true }],
    ['POST', `${webhook}/test`, {}],
    ['POST', `${webhook}/signing_secret`, {}],
    ['POST', `${webhook}/deliveries/${nobody('dlv')}/resend`, {}],
    ['POST', `${webhook}/resends`, period],
    ['POST', `${webhook}/resends/${nobody('rsd')}/cancel`, {}],
    ['POST', `${engagement}/activities`, { type: 'event', label: 'phone_call_missed' }],
    ['POST', `${engagement}/messages`, { text: 'x' }],
    ['POST', `${engagement}/pause`, {}],
    ['POST', `${engagement}/resume`, {}],
    ['POST', `${contact}/messages`, { text: 'x' }],
    ['POST', `${contact}/erase`, {}],
    ['POST', `/parked/${nobody('prk')}/retry`, {}],
    ['POST', '/rebuilds', { read_models: ['webhook_list'] }],
  ]
  for (const [method, path, body] of requests) {
    const refused = await manage(site, method, path, { ...body, dryRun: true, 'ada@example.com': 1 })
    t.is(refused.status, 400, `${method} ${path}`)
    const errors = ['dryRun is no field of this request', 'a name that was sent is no field of this request']
    t.deepEqual(refused.body, { errors }, `${method} ${path}`)
  }
  t.is(having(await account.manage('GET', '/marketing_sources'), 'marketing_sources').length, 1)
  t.is(having(await account.manage('GET', `/webhooks`), 'webhooks').length, 1)

  const errorsOf = async (method: string, path: string, body: object) =>
    (await account.manage(method, path, body)).body.errors
  const changed = { playbook_id: account.playbookId, originator_field: 'ref', title: 'y' }
  t.deepEqual(await errorsOf('PATCH', `/marketing_sources/${account.sourceId}`, changed), [
    'playbook_id is no field of this request',
    'originator_field is no field of this request',
    'title is no field of this request',
  ])
  const steps = [{ message: 'Hi', delay_minutes: 0, delay_hours: 1 }]
  t.deepEqual(await errorsOf('PATCH', `/playbooks/${account.playbookId}`, { steps, quiet_hours: { form: '21:00' } }), [
    'quiet_hours.from must be a time of day, HH:MM',
    'quiet_hours.to must be a time of day, HH:MM',
  ])
  const quiet_hours = { from: '21:00', to: '08:00', zone: 'UTC' }
  t.deepEqual(await errorsOf('PATCH', `/playbooks/${account.playbookId}`, { steps, quiet_hours }), [
    'steps.0.delay_hours is no field of this request',
    'quiet_hours.zone is no field of this request',
  ])
  const properties = { whatever: { they: 'say' } }
  const report = { type: 'event', label: 'phone_call_missed', properties }
  t.is((await manage(site, 'POST', `${engagement}/activities`, report)).status, 201)
  t.is((await manage(site, 'POST', `${playbook}/preview`, { lead: lead({ pet: 'cat' }) })).status, 200)

  const [conversion] = having(await account.manage('GET', '/conversions'), 'conversions')
  const recorded = { conversion_contact: { contact_id, agent: 'x' }, source: 'crm' }
  t.is((await account.rest(`/conversions/${conversion?.id}/events`, recorded)).status, 201, 'the REST API takes it')
})

test('a parameter that is given twice is refused, whichever one is meant', async (t) => {
  const account = await openAccount(site)
  const first = (path: string, query: string) => [path, query, `${query.split('=')[0] ?? ''} must be `] as const
  for (const [path, query, error] of [
    first('/follow_ups', 'state=running&state=ended'),
    first('/follow_ups', `playbook_id=${account.playbookId}&playbook_id=${account.playbookId}`),
    first('/follow_ups', 'limit=1&limit=2'),
    first('/follow_ups', 'cursor=a&cursor=b'),
    first('/usage', 'month=2026-01&month=2026-02'),
  ]) {
    const { status, body } = await account.manage('GET', `${path}?${query}`)
    t.is(status, 400, query)
    t.true(body.errors?.[0]?.startsWith(error), query)
  }
  for (const name of ['after', 'from', 'category', 'type', 'account', 'correlation', 'limit', 'personal']) {
    const { status } = await manage(site, 'GET', `/events?${name}=1&${name}=1`)
    t.is(status, 400, name)
  }
})
