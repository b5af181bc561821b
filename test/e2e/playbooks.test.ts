import test from 'ava'
import { having, send, sendJson } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { until } from '../kit/time/until.js'

const site = serviceForFile()

const settings = {
  title: 'Three texts',
  required_fields: ['first_name', 'pet'],
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. How is {{pet}}? Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there?', delay_minutes: 60 },
  ],
  reply_rules: [{ words: ['no thanks'], outcome: 'not_interested' }],
  days: ['monday', 'tuesday'],
  quiet_hours: null,
  give_up_after_minutes: 1_440,
}

test('a playbook is stored as it was sent, shown, and changed in part', async (t) => {
  const account = await openAccount(site)
  const { id, created_at: _, ...created } = having(await account.manage('POST', '/playbooks', settings), 'playbook')
  t.deepEqual(created, settings)
  const changed = await account.manage('PATCH', `/playbooks/${id}`, { days: ['friday'] })
  t.deepEqual(having(changed, 'playbook'), { id, ...settings, days: ['friday'] })
  const listed = having(await account.manage('GET', '/playbooks'), 'playbooks') as unknown as ReadonlyArray<object>
  t.like(listed.at(-1), { id, ...settings, days: ['friday'] })
})

test('whatever is wrong with a playbook is named, and nothing is stored', async (t) => {
  const account = await openAccount(site)
  for (const [wrong, message] of [
    [
      { steps: [{ message: 'Hi {{nickname}}', delay_minutes: 0 }] },
      /^steps\.0\.message must be a text whose \{\{…\}\} each/,
    ],
    [
      { steps: [{ message: 'x'.repeat(1_601), delay_minutes: 0 }] },
      /^steps\.0\.message must be a text of at most 1600/,
    ],
    [{ steps: [{ message: 'Hi', delay_minutes: -1 }] }, /^steps\.0\.delay_minutes must be a whole number of minutes/],
    [{ steps: [{ message: 'Hi', delay_minutes: 600_000 }] }, /^steps\.0\.delay_minutes must be a whole number/],
    [{ days: [] }, /^days must be a list of at least one day of the week$/],
    [{ days: ['mardi'] }, /^days\.0 must be a day of the week in English$/],
    [{ reply_rules: [{ words: ['yes', ''], outcome: 'qualified' }] }, /^reply_rules\.0\.words\.1 must be a word/],
    [{ reply_rules: [{ words: ['!!!'], outcome: 'qualified' }] }, /^reply_rules\.0\.words\.0 must be a word or phrase/],
    [
      { reply_rules: [{ words: [], outcome: 'qualified' }] },
      /^reply_rules\.0\.words must be a list of 1 to 100 words$/,
    ],
    [
      { reply_rules: [{ words: Array(101).fill('ok'), outcome: 'qualified' }] },
      /^reply_rules\.0\.words must be a list of 1 to 100 words$/,
    ],
    [
      { reply_rules: Array(101).fill({ words: ['ok'], outcome: 'qualified' }) },
      /^reply_rules must be a list of at most 100 reply rules$/,
    ],
    [{ steps: Array(51).fill({ message: 'Hi', delay_minutes: 0 }) }, /^steps must be a list of at most 50 steps$/],
    [{ required_fields: Array(498).fill('pet') }, /^required_fields must be a list of at most 497 field names$/],
    [
      { required_fields: Array.from({ length: 164 }, (_, n) => String(n).padEnd(200, 'x')) },
      /^required_fields must be field names that have at most 32 kB of UTF-8 in all$/,
    ],
    [{ required_fields: ['a', 'x'.repeat(201)] }, /^required_fields\.1 must be a text of at most 200 characters$/],
    [{ title: 'x'.repeat(1_001) }, /^title must be a text of at most 1,000 characters$/],
    [
      { reply_rules: [{ words: ['x'.repeat(1_001)], outcome: 'qualified' }] },
      /^reply_rules\.0\.words\.0 must be a text of at most 1,000/,
    ],
    [{ reply_rules: [{ words: ['ok'], outcome: 'sold' }] }, /^reply_rules\.0\.outcome must be qualified, unqualified/],
  ] as const) {
    const { status, body } = await account.manage('POST', '/playbooks', { title: 'x', ...wrong })
    t.is(status, 400)
    t.regex((body as { readonly errors: ReadonlyArray<string> }).errors.join(), message)
  }
  const listed = having(await account.manage('GET', '/playbooks'), 'playbooks') as unknown as ReadonlyArray<object>
  t.is(listed.length, 1)
})

test('a lead can have all fields of a playbook that requires as many as it may', async (t) => {
  const account = await openAccount(site)
  const required_fields = Array.from({ length: 497 }, (_, n) => `field_${n}`.padEnd(65, '_'))
  const { id } = having(await account.manage('POST', '/playbooks', { title: 'x', required_fields }), 'playbook')
  const { postUrl } = await account.addSource({ playbook_id: id })
  const fields = Object.fromEntries([...required_fields, 'tcpa_opt_in_token'].map((name) => [name, 'x']))
  const whole = { ...fields, phone: newPhone(), tcpa_opt_in_url: 'https://consent.example/1' }
  t.is((await sendJson(postUrl, 'POST', whole)).status, 200)
  const change = { required_fields: [...required_fields, 'one_more'] }
  t.is((await account.manage('PATCH', `/playbooks/${id}`, change)).status, 400)
})

test('a message may name what is kept of a contact, as the vendor spells it, and nothing else', async (t) => {
  const account = await openAccount(site)
  const required_fields = ['first_name', 'PetName', 'a field', 'tcpa_opt_in_token', 'tcpa_opt_in_url']
  const saving = (name: string) =>
    account.manage('POST', '/playbooks', {
      title: 'Pets',
      required_fields,
      steps: [{ message: `How is {{${name}}}?`, delay_minutes: 0 }],
    })
  t.is((await saving('PetName')).status, 201)
  for (const name of ['tcpa_opt_in_token', 'tcpa_opt_in_url', 'petname', 'a field']) {
    const { status, body } = await saving(name)
    t.is(status, 400, name)
    const [error = ''] = body.errors ?? []
    t.regex(error, /^steps\.0\.message must be a text whose \{\{…\}\} each hold one of account, .*, PetName, or link/)
    t.notRegex(error, /tcpa|a field/)
  }
})

test('a preview shows what a lead would be sent, and sends nothing', async (t) => {
  const account = await openAccount(site)
  const { id } = having(await account.manage('POST', '/playbooks', settings), 'playbook')
  const path = `/playbooks/${id}/preview`
  const lead = { first_name: 'Ada', pet: 'Blacky' }
  const answer = await account.manage('POST', path, { lead, at: '2026-03-02T17:00:00Z' })
  t.deepEqual(answer.body, {
    messages: [
      {
        text: 'Hi Ada, this is Example Agency. How is Blacky? Reply STOP to opt out.',
        at: '2026-03-02T17:00:00.000Z',
        held_by: null,
        encoding: 'GSM-7',
        segments: 1,
      },
      { text: 'Still there?', at: '2026-03-02T18:00:00.000Z', held_by: null, encoding: 'GSM-7', segments: 1 },
    ],
    warnings: [
      'Quiet hours are off, and with them those of the stricter states: the account answers for when it sends.',
    ],
  })
  t.is((await account.manage('POST', path)).status, 200, 'with a sample lead')
  const other = await openAccount(site)
  t.is((await other.manage('POST', path)).status, 404)
})

test('quiet hours of which nobody can tell whether they mean all day or never are refused', async (t) => {
  const account = await openAccount(site)
  const quiet_hours = { from: '08:00', to: '08:00' }
  for (const [method, path] of [
    ['POST', '/playbooks'],
    ['PATCH', `/playbooks/${account.playbookId}`],
  ] as const) {
    const answer = await account.manage(method, path, { title: 'Always', quiet_hours })
    t.is(answer.status, 400)
    t.deepEqual(answer.body, { errors: ['quiet_hours.to must be another time than from'] })
  }
})

test('a preview reads as the message that a lead of the same fields is sent, whatever types the vendor gives them', async (t) => {
  const account = await openAccount(site)
  const required_fields = ['first_name', 'zip', 'smoker', 'pet']
  const message = '{{first_name}}, {{phone}}, {{zip}}, {{smoker}}, {{email}}, {{pet}}: reply STOP to end'
  const steps = [{ message, delay_minutes: 0 }]
  const changed = { required_fields, steps, quiet_hours: null }
  t.is((await account.manage('PATCH', `/playbooks/${account.playbookId}`, changed)).status, 200)
  const fields = lead({
    first_name: ' Ada ',
    phone: '(415) 555-0999',
    zip: 94110,
    smoker: false,
    email: null,
    pet: 'cat',
  })
  const preview = await account.manage('POST', `/playbooks/${account.playbookId}/preview`, { lead: fields })
  const [shown] = having(preview, 'messages')
  t.is(shown?.['text'], 'Ada, +14155550999, 94110, false, cat: reply STOP to end')
  const { contact_id } = await account.submitted(fields)
  await until('the message', 30_000, async () => {
    const [sent] = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    return sent?.['text'] === shown?.['text']
  })
  t.pass()
})

test('a preview names what is wrong with a field, as the submission of it does, and lacks none', async (t) => {
  const account = await openAccount(site)
  const path = `/playbooks/${account.playbookId}/preview`
  const refusal = async (fields: object) => (await account.manage('POST', path, { lead: fields })).body.errors
  t.deepEqual(await refusal({ phone: '555', email: 'nobody', tcpa_opt_in_url: 'nowhere' }), [
    'phone must be a phone number',
    'email must be an e-mail address',
    'tcpa_opt_in_url must be an http or https URL',
  ])
  t.is(await refusal({}), undefined)
})

test('a preview shows what holds back all that an account sends', async (t) => {
  const account = await openAccount(site)
  const { days: _, ...daily } = settings
  const { id } = having(await account.manage('POST', '/playbooks', daily), 'playbook')
  const heldBy = async () => {
    const shown = having(await account.manage('POST', `/playbooks/${id}/preview`), 'messages')
    return shown.map(({ held_by }) => held_by)
  }
  t.deepEqual(await heldBy(), [null, null])
  await account.manage('PUT', '/messaging', { segments_per_month: 1 })
  t.deepEqual(await heldBy(), [null, "the account's segments of this month are used up"])
  await account.manage('PATCH', '', { enabled: false })
  t.deepEqual(await heldBy(), ['the account is disabled', 'the account is disabled'])
})

test('of a source on a playbook and its deletion at the same moment one is refused', async (t) => {
  const account = await openAccount(site)
  const both = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { id } = having(await account.manage('POST', '/playbooks', { title: 'Short' }), 'playbook')
      const [made, deleted] = await Promise.all([
        account.manage('POST', '/marketing_sources', { title: 'x', playbook_id: id }),
        account.manage('DELETE', `/playbooks/${id}`),
      ])
      return `${made.status} ${deleted.status}`
    }),
  )
  t.deepEqual(
    both.filter((one) => one !== '201 409' && one !== '404 200'),
    [],
  )
})

test('a playbook can be deleted unless a source uses it, and leads of other playbooks notice nothing', async (t) => {
  const account = await openAccount(site)
  const { id } = having(await account.manage('POST', '/playbooks', { title: 'Unused' }), 'playbook')
  const path = `/playbooks/${id}`
  const inUse = await account.manage('DELETE', `/playbooks/${account.playbookId}`)
  t.is(inUse.status, 409)
  t.deepEqual(inUse.body, { errors: ['a marketing source uses this playbook'] })
  const other = await openAccount(site)
  t.is((await other.manage('DELETE', path)).status, 404)
  t.is((await account.manage('DELETE', path)).status, 200)
  t.is((await account.manage('DELETE', path)).status, 200, 'as often as it is asked for')
  t.is((await account.manage('PATCH', path, { title: 'Back' })).status, 404)
  t.is((await account.manage('POST', '/marketing_sources', { title: 'x', playbook_id: id })).status, 404)
  const listed = having(await account.manage('GET', '/playbooks'), 'playbooks') as unknown as ReadonlyArray<object>
  t.is(listed.length, 1)
  t.truthy((await account.submitted()).lead_id)
  t.is((await send(`${site.url}/health/ready`)).status, 200)
})
