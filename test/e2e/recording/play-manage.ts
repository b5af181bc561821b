import { lead } from '../../kit/service/leads.js'
import { bearer, having } from '../../kit/network/http.js'
import { manage, openAccount, type Account } from '../../kit/service/account.js'
import { operatorKey } from '../../kit/service/settings.js'
import { nobody } from '../../kit/domain/samples.js'
import { sleep } from '../../kit/time/until.js'
import { json } from '../../kit/network/http.js'
import { callsOf, inWords, long, raw, type Calls, type Stage } from './stage.js'

type Call = readonly [method: string, path: string, body?: unknown]

/** Every call below an account, on things that are not there. */
const endpoints: ReadonlyArray<Call> = [
  ['PATCH', '', { enabled: true }],
  ['POST', '/api_keys', {}],
  ['PATCH', `/api_keys/${nobody('key')}`, { limit_per_minute: 1 }],
  ['DELETE', `/api_keys/${nobody('key')}`],
  ['POST', '/members', { email: 'a@example.com', role: 'admin' }],
  ['DELETE', `/members/${nobody('mbr')}`],
  ['POST', '/playbooks', { title: 'x' }],
  ['GET', '/playbooks'],
  ['PATCH', `/playbooks/${nobody('ply')}`, { title: 'x' }],
  ['DELETE', `/playbooks/${nobody('ply')}`],
  ['POST', `/playbooks/${nobody('ply')}/preview`],
  ['POST', '/marketing_sources', { title: 'x', playbook_id: nobody('ply') }],
  ['GET', '/marketing_sources'],
  ['PATCH', `/marketing_sources/${nobody('mks')}`, { suspended: true }],
  ['GET', `/marketing_sources/${nobody('mks')}/leads`],
  ['POST', '/conversions', { title: 'x', value: 1 }],
  ['GET', '/conversions'],
  ['POST', '/webhooks', { url: 'http://127.0.0.1:1/', token: 'x', playbook_id: nobody('ply') }],
  ['GET', '/webhooks'],
  ['PATCH', `/webhooks/${nobody('whk')}`, { events: [] }],
  ['DELETE', `/webhooks/${nobody('whk')}`],
  ['POST', `/webhooks/${nobody('whk')}/signing_secret`],
  ['POST', `/webhooks/${nobody('whk')}/test`],
  ['POST', `/webhooks/${nobody('whk')}/turn_on`, { catch_up: true }],
  ['GET', `/webhooks/${nobody('whk')}/deliveries`],
  ['GET', `/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}`],
  ['POST', `/webhooks/${nobody('whk')}/deliveries/${nobody('dlv')}/resend`],
  ['POST', `/webhooks/${nobody('whk')}/resends`, { from: '2024-01-01', to: '2024-01-02' }],
  ['GET', `/webhooks/${nobody('whk')}/resends`],
  ['GET', `/webhooks/${nobody('whk')}/resends/${nobody('rsd')}`],
  ['POST', `/webhooks/${nobody('whk')}/resends/${nobody('rsd')}/cancel`],
  ['POST', `/engagements/${nobody('neg')}/activities`, { type: 'event', label: 'interested' }],
  ['GET', `/contacts/${nobody('nct')}/timeline`],
]

/** A call that names something that is not there; what makes something new has no such name. */
const namesNothing = ([, path]: Call): boolean => path.includes(nobody('').slice(1))

const playDoors = async ({ main, recorder }: Stage, account: Account): Promise<void> => {
  const base = `${main.url}/manage/v1/accounts`
  const calls: ReadonlyArray<Call> = [
    ['POST', ''],
    ...endpoints.map(([method, path]): Call => [method, `/${account.id}${path}`]),
  ]
  for (const [method, path] of calls) {
    const name = path.replace(account.id, 'the account')
    await recorder.ask(`manage: without a key: ${method} ${name}`, base + path, { method })
  }
  const wrong = [
    ['an empty key', { authorization: 'Bearer' }],
    ['a key without its kind', { authorization: operatorKey }],
    ['a key of another kind', { authorization: `Basic ${operatorKey}` }],
    ['a key that is too long', bearer(`${operatorKey}x`)],
    ['the key of an account', bearer(account.apiKey)],
  ] as const
  for (const [name, headers] of wrong) {
    await recorder.ask(`manage: ${name}`, `${base}/${account.id}/playbooks`, { headers })
  }
  const nowhere = callsOf(recorder, main, { ...account, id: nobody('acc') }, 'manage: an unknown account')
  for (const [method, path, body] of endpoints) await nowhere.manage(`${method} ${path}`, method, path, body)
  const here = callsOf(recorder, main, account, 'manage: nothing there')
  for (const [method, path, body] of endpoints.filter(namesNothing))
    await here.manage(`${method} ${path}`, method, path, body)
}

const playAccounts = async ({ main, recorder }: Stage): Promise<void> => {
  const url = `${main.url}/manage/v1/accounts`
  const operator = bearer(operatorKey)
  const { ask } = recorder
  const opened = await ask('manage: an account is opened', url, json({ title: '  Example Insurance  ' }, operator))
  for (const body of [{}, { title: '' }, { title: null }, { title: 5 }, [], null, 'x']) {
    await ask(`manage: an account of ${inWords(body)}`, url, json(body, operator))
  }
  await ask('manage: invalid JSON', url, raw('{', operator))
  await ask('manage: another content type', url, raw('{}', { ...operator, 'content-type': 'text/plain' }))
  await ask('manage: compressed', url, raw('{}', { ...operator, 'content-encoding': 'gzip' }))
  await ask('manage: too large', url, raw('{}'.padEnd(102_401), operator))
  await ask('manage: nested too deep', url, raw(`{"title":${'['.repeat(200)}${']'.repeat(200)}}`, operator))
  await ask('manage: no body', url, { method: 'POST', headers: operator })
  const at = `${url}/${having(opened, 'account').id}`
  const changes = [
    ['enabled as it was', true],
    ['disabled', false],
    ['disabled again', false],
    ['enabled', true],
    ['neither', null],
    ['enabled by a text', 'yes'],
    ['enabled by a number', 1],
  ] as const
  for (const [name, enabled] of changes) {
    await ask(`manage: an account is ${name}`, at, json({ enabled }, operator, 'PATCH'))
  }
  await ask('manage: an account changes in nothing', at, json({}, operator, 'PATCH'))
  await ask('manage: the prototype changes nothing', at, raw('{"__proto__":{"enabled":false}}', operator, 'PATCH'))
  const targets = [
    ['GET', '/accounts'],
    ['DELETE', '/accounts'],
    ['PUT', `/accounts/${nobody('acc')}`],
    ['DELETE', `/accounts/${nobody('acc')}/webhooks`],
    ['HEAD', `/accounts/${nobody('acc')}/webhooks`],
    ['GET', '/nothing'],
    ['POST', '/accounts/x/nothing'],
    ['PATCH', '/accounts/acc_1'],
    ['PATCH', '/accounts/%00'],
    ['PATCH', '/accounts/%E0%A4%A'],
  ] as const
  for (const [method, path] of targets) {
    await ask(`manage: ${method} ${path}`, `${main.url}/manage/v1${path}`, { method, headers: operator })
  }
}

/** POST bodies that are refused. */
const wrongBodies: ReadonlyArray<readonly [path: string, bodies: ReadonlyArray<unknown>]> = [
  ['/api_keys', [{ limit_per_minute: 0 }, { limit_per_minute: 1.5 }, { limit_per_minute: '5' }, []]],
  [
    '/members',
    [{}, { email: 'nobody', role: 'admin' }, { email: 'a@example.com', role: 'owner' }, { email: null, role: null }],
  ],
  [
    '/playbooks',
    [
      {},
      { title: '  ' },
      { title: 'x', required_fields: 'email' },
      { title: 'x', required_fields: ['email', ''] },
      { title: 'x', steps: [{ message: '', delay_minutes: -1 }, 5] },
      { title: 'x', steps: {} },
      { title: 'x', quiet_hours: '21-8' },
      { title: 'x', quiet_hours: { from: '21:00', to: '24:00' } },
      { title: 'x', give_up_after_minutes: 'week' },
    ],
  ],
  [
    '/marketing_sources',
    [{}, { title: 'x', playbook_id: 'ply_1' }, { title: 5, playbook_id: nobody('ply'), originator_field: ' ' }],
  ],
  [
    '/conversions',
    [{}, { title: '', value: 5 }, { title: 'x', value: -1 }, { title: 'x', value: 1.5 }, { title: 'x', value: '5' }],
  ],
  [
    '/webhooks',
    [
      {},
      { url: 'nowhere', token: 'x' },
      { url: 'ftp://example.com/', token: 'x' },
      { url: 'http://user:secret@127.0.0.1/', token: 'x' },
      { url: `http://127.0.0.1/${long(2_048)}`, token: '' },
      { url: 'http://127.0.0.1/', token: 'two words' },
      { url: 'http://127.0.0.1/', token: 'x', events: 'sold' },
      { url: 'http://127.0.0.1/', token: 'x', events: ['sold', 'bought'], format: 'xml', playbook_id: 'all' },
    ],
  ],
]

const playKeysAndMembers = async ({ manage: call }: Calls): Promise<void> => {
  const issued = await call('a key with a limit', 'POST', '/api_keys', { limit_per_minute: 600 })
  const { id } = having(issued, 'api_key') as { readonly id: string }
  await call('a key without a body', 'POST', '/api_keys')
  await call('a key with a limit of null', 'POST', '/api_keys', { limit_per_minute: null })
  for (const limit_per_minute of [5, null, 0, -1, 'none', undefined]) {
    await call(`a key is limited to ${inWords(limit_per_minute)}`, 'PATCH', `/api_keys/${id}`, { limit_per_minute })
  }
  await call('a key is revoked', 'DELETE', `/api_keys/${id}`)
  await call('a key that was revoked', 'DELETE', `/api_keys/${id}`)
  await call('the limit of a key that was revoked', 'PATCH', `/api_keys/${id}`, { limit_per_minute: 1 })
  const ada = { email: 'ada@example.com', role: 'manager' }
  const member = having(await call('a member', 'POST', '/members', ada), 'member')
  await call('an agent', 'POST', '/members', { email: 'agent@example.com', role: 'agent' })
  await call('a member with fields of no member', 'POST', '/members', { ...ada, title: 'Ms', 'first name': 'Ada' })
  await call('a member twice', 'POST', '/members', { email: 'ADA@example.com', role: 'admin' })
  await call('a member goes', 'DELETE', `/members/${member.id}`)
  await call('a member who went', 'DELETE', `/members/${member.id}`)
  await call('a member comes again', 'POST', '/members', ada)
}

const playPlaybooks = async ({ manage: call }: Calls): Promise<string> => {
  const steps = [{ message: 'Hello {first_name}', delay_minutes: 5 }]
  const whole = { title: ' Boats ', required_fields: ['first_name', ' boat_length '], steps, give_up_after_minutes: 60 }
  const { id } = having(
    await call('a whole playbook', 'POST', '/playbooks', { ...whole, quiet_hours: null }),
    'playbook',
  )
  await call('a playbook with a field of no step', 'POST', '/playbooks', {
    ...whole,
    steps: [{ ...steps[0], after: 5 }],
  })
  await call('a playbook with a title alone', 'POST', '/playbooks', { title: 'Standard', steps: null })
  const changes = [
    { title: 'Ships', quiet_hours: { from: '20:00', to: '07:30' } },
    { quiet_hours: null, steps: [] },
    { title: 'Ships' },
    {},
    { title: null, steps: [{}] },
  ]
  for (const change of changes)
    await call(`a playbook changes to ${inWords(change)}`, 'PATCH', `/playbooks/${id}`, change)
  await call('playbooks', 'GET', '/playbooks')
  return id
}

const playSources = async ({ manage: call, submit }: Calls, account: Account, playbook_id: string): Promise<void> => {
  const asked = { title: ' Partner ', playbook_id, originator_field: ' ref no ' }
  const { id } = having(await call('a source', 'POST', '/marketing_sources', asked), 'marketing_source')
  // Sources of one millisecond are listed in no order.
  await sleep(2)
  await call('a source without more', 'POST', '/marketing_sources', {
    title: 'Mail',
    playbook_id,
    originator_field: null,
  })
  const changes = [
    { suspended: true, limit_per_minute: 60 },
    { limit_per_minute: null },
    { suspended: false },
    { suspended: null },
    {},
    { suspended: 'yes', limit_per_minute: 0 },
  ]
  for (const change of changes) {
    await call(`a source changes to ${inWords(change)}`, 'PATCH', `/marketing_sources/${id}`, change)
  }
  await call('sources', 'GET', '/marketing_sources')
  const path = `/marketing_sources/${account.sourceId}/leads`
  await call('no leads', 'GET', path)
  for (let n = 1; n <= 3; n += 1) await submit(`lead ${n}`, lead({ external_id: `E-${n}` }))
  await call('leads', 'GET', path)
  const first = await call('the first page of leads', 'GET', `${path}?limit=2`)
  await call('the last page of leads', 'GET', `${path}?limit=2&cursor=${first.body.next_cursor ?? ''}`)
  await call('a page of another size', 'GET', `${path}?limit=500&cursor=${first.body.next_cursor ?? ''}`)
  for (const query of [
    'limit=0',
    'limit=501',
    'limit=x',
    'limit=',
    'limit=1.5',
    'cursor=x',
    'cursor=',
    'cursor=W10',
    'limit=0&cursor=x',
  ]) {
    await call(`leads with ${query}`, 'GET', `${path}?${query}`)
  }
  await call('leads with two limits', 'GET', `${path}?limit=1&limit=2`)
}

/** What one account has is not there for another. */
const playOthers = async ({ main, recorder }: Stage, account: Account): Promise<void> => {
  const other = await openAccount(main, 'Other Agency')
  const theirs = await other.submitted()
  const webhook = await other.addWebhook({ url: 'http://127.0.0.1:1/', token: 'x', events: ['sold'] })
  const key = (having(await other.manage('POST', '/api_keys', {}), 'api_key') as { readonly id: string }).id
  const member = having(await other.manage('POST', '/members', { email: 'a@example.com', role: 'admin' }), 'member').id
  const calls = [
    ['limits a key', 'PATCH', `/api_keys/${key}`, { limit_per_minute: 1 }],
    ['revokes a key', 'DELETE', `/api_keys/${key}`, undefined],
    ['removes a member', 'DELETE', `/members/${member}`, undefined],
    ['changes a playbook', 'PATCH', `/playbooks/${other.playbookId}`, { title: 'Mine' }],
    ['takes a playbook', 'POST', '/marketing_sources', { title: 'x', playbook_id: other.playbookId }],
    ['changes a source', 'PATCH', `/marketing_sources/${other.sourceId}`, { suspended: true }],
    ['changes nothing of a source', 'PATCH', `/marketing_sources/${other.sourceId}`, {}],
    ['lists leads', 'GET', `/marketing_sources/${other.sourceId}/leads`, undefined],
    [
      'narrows to a playbook',
      'POST',
      '/webhooks',
      { url: 'http://127.0.0.1:1/', token: 'x', playbook_id: other.playbookId },
    ],
    ['changes a webhook', 'PATCH', `/webhooks/${webhook}`, { events: [] }],
    ['removes a webhook', 'DELETE', `/webhooks/${webhook}`, undefined],
    ['tests a webhook', 'POST', `/webhooks/${webhook}/test`, undefined],
    ['turns a webhook on', 'POST', `/webhooks/${webhook}/turn_on`, { catch_up: true }],
    ['asks for a signing secret', 'POST', `/webhooks/${webhook}/signing_secret`, undefined],
    ['lists deliveries', 'GET', `/webhooks/${webhook}/deliveries`, undefined],
    ['lists resends', 'GET', `/webhooks/${webhook}/resends`, undefined],
    ['reports', 'POST', `/engagements/${theirs.next_engagement_id}/activities`, { type: 'event', label: 'interested' }],
    ['reads a timeline', 'GET', `/contacts/${theirs.contact_id}/timeline`, undefined],
  ] as const
  const { manage: call } = callsOf(recorder, main, account, 'manage: another account')
  for (const [name, method, path, body] of calls) await call(name, method, path, body)
}

/** The management API, apart from webhooks and what goes to them. */
export const playManage = async (stage: Stage): Promise<void> => {
  const { main, recorder } = stage
  await playAccounts(stage)
  const account = await openAccount(main, 'Managed Agency')
  await playDoors(stage, account)
  const calls = callsOf(recorder, main, account, 'manage')
  for (const [path, bodies] of wrongBodies) {
    for (const body of bodies) await calls.manage(`${path} with ${inWords(body)}`, 'POST', path, body)
  }
  await playKeysAndMembers(calls)
  await playSources(calls, account, await playPlaybooks(calls))
  await calls.manage('a conversion', 'POST', '/conversions', { title: ' Renewed ', value: 900 })
  await calls.manage('a conversion worth nothing', 'POST', '/conversions', { title: 'Called', value: 0 })
  await calls.manage('conversions', 'GET', '/conversions')
  await playOthers(stage, account)
  await manage(main, 'PATCH', `/accounts/${account.id}`, { enabled: false })
  await calls.manage('what a disabled account has', 'GET', '/playbooks')
}
