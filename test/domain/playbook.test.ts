import test from 'ava'
import { fold } from '../../domain/decider.js'
import { playbook, type PlaybookCommand, type PlaybookEvent } from '../../domain/playbook.js'
import { standardFields, defaultSettings, standardPlaybook } from '../../domain/playbook-settings.js'
import { messageOf } from '../../domain/message-template.js'
import { segmentsOf } from '../../domain/message-segments.js'
import { E } from '../../domain/prelude.js'
import { accountId, playbookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const created = {
  type: 'PlaybookCreated',
  data: { playbook_id: playbookId(), account_id: accountId(), settings: defaultSettings },
} as const satisfies PlaybookEvent

const create = {
  type: 'CreatePlaybook',
  playbookId: playbookId(),
  accountId: accountId(),
  settings: defaultSettings,
} as const

test('a playbook is created once', (t) => {
  given(t, playbook).when(create).then(created)
  given(t, playbook, created).when(create).isAlreadySo()
})

test('what a new account sends may be sent as it stands: three messages in three days, each of one segment', (t) => {
  given(t, playbook)
    .when({ ...create, settings: standardPlaybook })
    .then({ ...created, data: { ...created.data, settings: standardPlaybook } })
  t.deepEqual(
    standardPlaybook.steps.map(({ delay_minutes }) => delay_minutes / (24 * 60)),
    [0, 1, 1],
  )
  const link = (): string => 'https://leads.example.com'
  for (const { message } of standardPlaybook.steps) {
    t.regex(message, /\{\{account\}\}/, 'who writes')
    t.regex(message, /Reply STOP/, 'how to stop')
    const text = messageOf(message, { first_name: 'Bartholomew', account: 'Example Insurance Agency' }, link)
    t.is(segmentsOf(text).segments, 1, text)
    t.regex(messageOf(message, { first_name: '', account: 'Example Agency' }, link), /^Hi, /, 'a blank name reads well')
  }
})

test('a change leaves every setting that it does not name', (t) => {
  given(t, playbook, created)
    .when({ type: 'ChangePlaybook', accountId: accountId(), settings: { title: 'Short' } })
    .then({ type: 'PlaybookChanged', data: { settings: { ...defaultSettings, title: 'Short' } } })
})

test('a change to what a playbook says already changes nothing', (t) => {
  const changed: PlaybookEvent = {
    type: 'PlaybookChanged',
    data: { settings: { ...defaultSettings, required_fields: ['email'] } },
  }
  given(t, playbook, created, changed)
    .when({ type: 'ChangePlaybook', accountId: accountId(), settings: { required_fields: ['email'] } })
    .isAlreadySo()
  given(t, playbook, created).when({ type: 'ChangePlaybook', accountId: accountId(), settings: {} }).isAlreadySo()
})

/** Which settings a command is refused for. */
const wrongSettings = (command: PlaybookCommand, ...events: ReadonlyArray<PlaybookEvent>): ReadonlyArray<string> => {
  const decided = playbook.decide(command, fold(playbook, playbook.initial, events))
  if (E.isRight(decided) || decided.left.kind !== 'playbook-invalid') return []
  return decided.left.mismatches.map(({ path }) => path)
}

const steps = [{ message: 'Hi {{name}}', delay_minutes: 0 }]
const change = { type: 'ChangePlaybook', accountId: accountId() } as const

test('a message that names what no lead has is refused', (t) => {
  const wrong = { ...defaultSettings, steps }
  t.deepEqual(wrongSettings({ ...create, settings: wrong }), ['steps.0.message'])
  t.deepEqual(wrongSettings({ ...change, settings: { steps } }, created), ['steps.0.message'])
  const settings = { ...wrong, required_fields: ['name'] }
  given(t, playbook)
    .when({ ...create, settings })
    .then({ type: 'PlaybookCreated', data: { ...created.data, settings } })
})

test('days on which nothing could be sent are refused', (t) => {
  t.deepEqual(wrongSettings({ ...create, settings: { ...defaultSettings, days: [] } }), ['days'])
  t.deepEqual(wrongSettings({ ...change, settings: { days: [] } }, created), ['days'])
})

test('hours that leave none in which the whole continental US is awake are refused', (t) => {
  const quiet = (from: string, to: string) => ({
    ...create,
    settings: { ...defaultSettings, quiet_hours: { from, to } },
  })
  t.deepEqual(wrongSettings(quiet('11:00', '09:00')), ['quiet_hours'])
  t.deepEqual(wrongSettings(quiet('13:00', '09:00')), [])
})

test('a playbook that was stored before its names were checked can be renamed, and not given other fields', (t) => {
  const { reply_rules: _rules, days: _days, ...before } = defaultSettings
  const stored: PlaybookEvent = { type: 'PlaybookCreated', data: { ...created.data, settings: { ...before, steps } } }
  const settings = { ...defaultSettings, steps, title: 'Short' }
  given(t, playbook, stored)
    .when({ ...change, settings: { title: 'Short' } })
    .then({ type: 'PlaybookChanged', data: { settings } })
  t.deepEqual(wrongSettings({ ...change, settings: { required_fields: ['email'] } }, stored), ['steps.0.message'])
})

test('the names of the required fields leave room for the values in a lead, but for those stored before', (t) => {
  const most = ['x'.repeat(16 * 1024), 'é'.repeat(8 * 1024)]
  const asking = (required_fields: ReadonlyArray<string>) => ({ ...defaultSettings, required_fields })
  t.deepEqual(wrongSettings({ ...create, settings: asking(most) }), [])
  const beyond = asking([...most, 'y'])
  t.deepEqual(wrongSettings({ ...create, settings: beyond }), ['required_fields'])
  t.deepEqual(wrongSettings({ ...change, settings: asking([...most, 'z']) }, created), ['required_fields'])
  const stored: PlaybookEvent = { type: 'PlaybookCreated', data: { ...created.data, settings: beyond } }
  given(t, playbook, stored)
    .when({ ...change, settings: { title: 'Short' } })
    .then({ type: 'PlaybookChanged', data: { settings: { ...beyond, title: 'Short' } } })
})

test('a playbook that is deleted can not be changed, and is deleted once', (t) => {
  const remove = { type: 'DeletePlaybook', accountId: accountId() } as const
  const deleted: PlaybookEvent = { type: 'PlaybookDeleted', data: {} }
  given(t, playbook, created).when(remove).then(deleted)
  given(t, playbook, created, deleted).when(remove).isAlreadySo()
  given(t, playbook, created, deleted)
    .when({ type: 'ChangePlaybook', accountId: accountId(), settings: { title: 'Short' } })
    .refuses('playbook-not-found')
  given(t, playbook, created)
    .when({ ...remove, accountId: accountId(2) })
    .refuses('playbook-not-found')
})

test('a playbook that a source uses is used from then on, and is not deleted', (t) => {
  const use = { type: 'UsePlaybook', accountId: accountId() } as const
  const remove = { type: 'DeletePlaybook', accountId: accountId() } as const
  const used: PlaybookEvent = { type: 'PlaybookUsed', data: {} }
  given(t, playbook, created).when(use).then(used)
  given(t, playbook, created, used).when(use).isAlreadySo()
  given(t, playbook, created, used).when(remove).refuses('playbook-in-use')
  given(t, playbook, created, { type: 'PlaybookDeleted', data: {} }).when(use).refuses('playbook-not-found')
  given(t, playbook, created)
    .when({ ...use, accountId: accountId(2) })
    .refuses('playbook-not-found')
  given(t, playbook).when(use).refuses('playbook-not-found')
})

test('the playbook of another account is not found, like one that is missing', (t) => {
  const change = { type: 'ChangePlaybook', accountId: accountId(2), settings: { title: 'Short' } } as const
  given(t, playbook).when(change).refuses('playbook-not-found')
  given(t, playbook, created).when(change).refuses('playbook-not-found')
})

test('a standard playbook asks for the fields of contract 4.6', (t) => {
  t.deepEqual(
    [...standardFields, 'tcpa_opt_in_token', 'tcpa_opt_in_url'].join(' '),
    'first_name last_name email phone date_of_birth gender marital_status current_residence_address ' +
      'current_residence_city current_residence_state current_residence_zip current_insurance_carrier ' +
      'current_insurance_coverage credit_rating tcpa_opt_in_token tcpa_opt_in_url',
  )
})
