import test from 'ava'
import { instantOf, later } from '../../domain/instant.js'
import { previewOf } from '../../domain/playbook-preview.js'
import { defaultSettings } from '../../domain/playbook-settings.js'

const submittedAt = instantOf(Date.UTC(2026, 2, 2, 17))

const preview = (
  messages: ReadonlyArray<readonly [message: string, delay_minutes: number]>,
  first_name = 'Ada',
  at = submittedAt,
  quiet_hours = defaultSettings.quiet_hours,
  consent?: 'refused' | 'awaited',
  current_residence_state = 'CA',
  account: Partial<Parameters<typeof previewOf>[0]['account']> = {},
  phone = '(415) 555-0123',
) =>
  previewOf({
    settings: {
      ...defaultSettings,
      quiet_hours,
      steps: messages.map(([message, delay_minutes]) => ({ message, delay_minutes })),
    },
    account: { title: 'Acme Insurance', enabled: true, held: undefined, limit: undefined, ...account },
    site: 'https://leads.example.com',
    fields: { first_name, phone, current_residence_state },
    consent,
    submittedAt: at,
  })

test('a preview shows each message with its time and what it costs', (t) => {
  const { messages, warnings } = preview([
    ['Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', 0],
    [`Still there? ${'x'.repeat(160)}`, 60],
    ['Voilà: ✓', 1_440],
  ])
  t.deepEqual(
    messages.map(({ at, encoding, segments }) => [at, encoding, segments]),
    [
      ['2026-03-02T17:00:00.000Z', 'GSM-7', 1],
      ['2026-03-02T18:00:00.000Z', 'GSM-7', 2],
      ['2026-03-03T18:00:00.000Z', 'UCS-2', 1],
    ],
  )
  t.is(messages[0]?.text, 'Hi Ada, this is Acme Insurance. Reply STOP to opt out.')
  t.deepEqual(warnings, [])
})

test('a preview shows that a state allows no more messages in a day, and the next step counts from when it does', (t) => {
  const steps = [0, 60, 60, 60, 60].map((delay, n) => [`{{account}} ${n}: reply STOP to end`, delay] as const)
  const times = (state: string) =>
    preview(steps, 'Ada', submittedAt, defaultSettings.quiet_hours, undefined, state).messages.map(
      ({ at, held_by }) => [at?.slice(0, 16), held_by],
    )
  t.deepEqual(times('FL'), [
    ['2026-03-02T17:00', null],
    ['2026-03-02T18:00', null],
    ['2026-03-02T19:00', null],
    ['2026-03-03T17:00', 'the state allows no more messages a day'],
    ['2026-03-03T18:00', null],
  ])
  t.deepEqual(
    times('CA').map(([, held]) => held),
    [null, null, null, null, null],
  )
})

test('a preview shows that no more than ten steps go out within a day', (t) => {
  const steps = Array.from({ length: 12 }, (_, n) => [`{{account}} ${n}: reply STOP to end`, n === 0 ? 0 : 1] as const)
  const held = preview(steps, 'Ada').messages.flatMap(({ at, held_by }) => (held_by === null ? [] : [[at, held_by]]))
  t.deepEqual(held, [['2026-03-03T17:00:00.000Z', 'the contact got as many messages in a day as steps may send']])
})

test('a preview shows what the night holds back until the morning, and the next step counts from then', (t) => {
  // Ten in the evening in California.
  const night = instantOf(Date.UTC(2026, 2, 3, 6))
  const steps = [
    ['{{account}}: reply STOP to end', 0],
    ['Still there?', 60],
  ] as const
  const { messages, warnings } = preview(steps, 'Ada', night)
  const [first, second] = messages
  if (typeof first?.at !== 'string' || typeof second?.at !== 'string') return t.fail('a message has no time')
  t.true(
    first.at >= instantOf(Date.UTC(2026, 2, 3, 16)) && first.at < instantOf(Date.UTC(2026, 2, 3, 16, 30)),
    first.at,
  )
  t.regex(first.held_by ?? '', /quiet hours/)
  t.is(second.at, later(first.at, 3_600_000))
  t.is(second.held_by, null)
  t.deepEqual(warnings, [])

  const off = preview(steps, 'Ada', night, null)
  t.deepEqual(
    off.messages.map(({ at, held_by }) => [at, held_by]),
    [
      [night, null],
      [later(night, 3_600_000), null],
    ],
  )
  t.is(off.warnings.length, 1)
  t.regex(off.warnings[0] ?? '', /Quiet hours are off/)
})

test('a first message that names no sender, or no way to stop, is warned of; later ones are not', (t) => {
  const { warnings } = preview([
    ['Hi {{first_name}}', 0],
    ['Bye', 1],
  ])
  t.is(warnings.length, 2)
  t.regex(warnings[0] ?? '', /who writes/)
  t.regex(warnings[1] ?? '', /how to stop/)
  t.deepEqual(preview([['ACME INSURANCE here. Text stop to end.', 0]]).warnings, [])
  t.deepEqual(preview([]).warnings, [])
})

const warningsOf = (message: string, title: string, first_name = 'Ada') =>
  preview([[message, 0]], first_name, submittedAt, defaultSettings.quiet_hours, undefined, 'CA', { title }).warnings

test('neither a part of a word nor the name of the lead says who writes', (t) => {
  for (const [title, message] of [
    ['Go', 'Good morning! Reply STOP to opt out.'],
    ['Ada', 'Hi {{first_name}}, do you have time? Reply STOP.'],
  ] as const) {
    const warnings = warningsOf(message, title)
    t.is(warnings.length, 1, message)
    t.regex(warnings[0] ?? '', /who writes/)
  }
  t.deepEqual(warningsOf('It is Go! Reply STOP.', 'Go!'), [])
})

test('a way to stop is what a contact may answer, not any word', (t) => {
  for (const message of ['stop by our office today!', 'our non-stop service', 'at the end of the day']) {
    const warnings = warningsOf(`{{account}}: ${message}`, 'Acme')
    t.is(warnings.length, 1, message)
    t.regex(warnings[0] ?? '', /how to stop/)
  }
  for (const message of [
    ...[
      'Reply STOP to end.',
      'Reply QUIT to leave.',
      'END or CANCEL ends it.',
      'text "stop" to end',
      'Reply with stop.',
    ],
    ...['To opt out, say so.', 'Unsubscribe at any time', 'Responda ALTO', 'envíe alto para terminar'],
  ])
    t.deepEqual(warningsOf(`{{account}}: ${message}`, 'Acme'), [], message)
})

test('a state that is written out has its hours, too', (t) => {
  const first = (state: string) => {
    const steps = [['{{account}}: reply STOP', 0]] as const
    const morning = instantOf(Date.UTC(2026, 2, 2, 16, 30))
    return preview(steps, 'Ada', morning, defaultSettings.quiet_hours, undefined, state).messages[0]?.at
  }
  t.is(first('Hawaii'), first('HI'))
  t.not(first('Hawaii'), first('an island'))
})

test('a long title is cut in messages, and they still say who writes', (t) => {
  const title = 'Acme  Insurance of the Greater Metropolitan Area and all of its Counties, Incorporated'
  const step = ['{{account}}: reply STOP to end', 0] as const
  t.deepEqual(preview([step], 'Ada', submittedAt, defaultSettings.quiet_hours, undefined, 'CA', { title }).warnings, [])
})

test('a message that is blank for this lead is warned of', (t) => {
  const steps = [
    ['{{account}}: reply STOP to end', 0],
    ['{{first_name}}', 1],
  ] as const
  t.deepEqual(preview(steps).warnings, [])
  t.deepEqual(preview(steps, ' ').warnings, ['Message 2 is blank for this lead, and would not be sent.'])
})

test('a preview shows a short link where a message has a link, as long as a real one', (t) => {
  const { messages } = preview([['Your quote: {{link:https://www.example.com/quote}}', 0]])
  t.is(messages[0]?.text, `Your quote: https://leads.example.com/l/${'X'.repeat(14)}0`)
})

test('a preview shows that the consent of the lead holds the first message back, or all of them', (t) => {
  const steps = [
    ['{{account}}: reply STOP to end', 0],
    ['Still there?', 60],
  ] as const
  const held = (consent?: 'refused' | 'awaited') =>
    preview(steps, 'Ada', submittedAt, defaultSettings.quiet_hours, consent).messages.map(({ at, held_by }) => [
      at === null,
      held_by,
    ])
  const refused = [true, 'the account accepts no consent of the host of tcpa_opt_in_url']
  t.deepEqual(held('refused'), [refused, refused])
  t.deepEqual(held('awaited'), [
    [false, 'the verification of the consent'],
    [false, null],
  ])
})

const ofAccount = (
  steps: ReadonlyArray<readonly [message: string, delay_minutes: number]>,
  account: Parameters<typeof preview>[6],
  at = submittedAt,
) =>
  preview(steps, 'Ada', at, null, undefined, 'CA', account).messages.map(({ at: sent, held_by }) => [
    sent?.slice(0, 16) ?? null,
    held_by,
  ])

const hourly = [
  ['{{account}}: reply STOP to end', 0],
  ['Still there?', 60],
  ['Bye', 60],
] as const

test('a preview shows that a disabled account sends nothing', (t) => {
  const held = [null, 'the account is disabled']
  t.deepEqual(ofAccount(hourly, { enabled: false }), [held, held, held])
})

test('a preview shows what waits for a sender that the provider blocks, and the next step counts from when it is tried', (t) => {
  const held = { since: later(submittedAt, -60_000), until: later(submittedAt, 15 * 60_000) }
  t.deepEqual(ofAccount(hourly, { held }), [
    ['2026-03-02T17:15', 'the provider lets nothing of the sender through'],
    ['2026-03-02T18:15', null],
    ['2026-03-02T19:15', null],
  ])
  t.deepEqual(
    ofAccount(hourly, { held }, later(submittedAt, -60 * 60_000)).map(([, by]) => by),
    [null, 'the provider lets nothing of the sender through', null],
    'a lead that came before it was blocked',
  )
})

test('a preview shows what is dropped since the month is used up, and the next step counts from then', (t) => {
  const limit = { perMonth: 10, month: '2026-03', used: 9 }
  const usedUp = "the account's segments of this month are used up"
  t.deepEqual(ofAccount(hourly, { limit }), [
    ['2026-03-02T17:00', null],
    [null, usedUp],
    [null, usedUp],
  ])
  const eve = instantOf(Date.UTC(2026, 2, 31, 22, 30))
  t.deepEqual(
    ofAccount(hourly, { limit }, eve),
    [
      ['2026-03-31T22:30', null],
      ['2026-04-01T00:00', usedUp],
      ['2026-04-01T01:00', null],
    ],
    'on the last day it waits for the next month',
  )
})
