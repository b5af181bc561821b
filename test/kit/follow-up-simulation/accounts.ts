import { standardPlaybook, type PlaybookSettings } from '../../../domain/playbook-settings.js'

type SimulatedAccount = {
  readonly title: string
  readonly settings: PlaybookSettings
  /** The playbook's quiet hours, in hours. */
  readonly awake: readonly [from: number, to: number]
}

/**
 * One follows up for days as an account does that changes nothing, the other within hours and on working days alone.
 */
export const accounts: readonly [SimulatedAccount, SimulatedAccount] = [
  {
    title: 'Example Agency',
    settings: {
      ...standardPlaybook,
      reply_rules: [
        ...standardPlaybook.reply_rules,
        { words: ['call me'], outcome: 'qualified' },
        { words: ['already sold'], outcome: 'unqualified' },
      ],
    },
    awake: [8, 21],
  },
  {
    title: 'Busy Agency',
    settings: {
      ...standardPlaybook,
      title: 'Within hours',
      steps: [
        { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
        { message: '{{current_insurance_carrier}}', delay_minutes: 45 },
        { message: 'Are you still interested, {{first_name}}?', delay_minutes: 120 },
      ],
      quiet_hours: { from: '20:00', to: '09:00' },
      days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
      reply_rules: [
        { words: ['call me'], outcome: 'qualified' },
        { words: ['already sold'], outcome: 'unqualified' },
        { words: ['not interested'], outcome: 'not_interested' },
        { words: ['leave it'], outcome: 'opted_out' },
      ],
      give_up_after_minutes: 3 * 24 * 60,
    },
    awake: [9, 20],
  },
]

/** `n`: 1 or 2. */
export const accountNumber = (n: number): SimulatedAccount => (n === 1 ? accounts[0] : accounts[1])
