import test from 'ava'
import { instantOf } from '../../domain/instant.js'
import { previewOf } from '../../domain/playbook-preview.js'
import { standardPlaybook } from '../../domain/playbook.js'

const submittedAt = instantOf(Date.UTC(2026, 2, 2, 17))

const preview = (messages: ReadonlyArray<readonly [message: string, delay_minutes: number]>, first_name = 'Ada') =>
  previewOf({
    settings: { ...standardPlaybook, steps: messages.map(([message, delay_minutes]) => ({ message, delay_minutes })) },
    accountTitle: 'Acme Insurance',
    fields: { first_name },
    submittedAt,
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

test('a message that is blank for this lead is warned of', (t) => {
  const steps = [
    ['{{account}}: reply STOP to end', 0],
    ['{{first_name}}', 1],
  ] as const
  t.deepEqual(preview(steps).warnings, [])
  t.deepEqual(preview(steps, ' ').warnings, ['Message 2 is blank for this lead, and would not be sent.'])
})
