import type { ActivityLabel } from './activity.js'

type Fired = {
  readonly label: ActivityLabel
  /** What the activity says; null where the trigger brings it. */
  readonly note: string | null
}

/** What fires an activity by itself, which contract 6.4 leaves open. The type of an activity follows from its label. */
export const triggers = {
  'playbook-started': { label: 'started', note: 'The playbook started' },
  'opted-out-before': { label: 'filtered', note: 'The contact opted out before' },
  'no-hour': { label: 'filtered', note: 'There is no hour in which the contact may be written to' },
  'host-not-accepted': { label: 'filtered', note: 'The URL of the consent is of no host that the account accepts' },
  'consent-refused': { label: 'filtered', note: 'The consent was refused' },
  'consent-unverified': { label: 'filtered', note: 'The consent could not be verified within a day' },
  'contact-replied': { label: 'interested', note: 'The contact replied' },
  'rule-says-qualified': { label: 'qualified', note: 'A rule of the playbook says so' },
  'rule-says-unqualified': { label: 'unqualified', note: 'A rule of the playbook says so' },
  'rule-says-not_interested': { label: 'not_interested', note: 'A rule of the playbook says so' },
  'asked-to-stop': { label: 'opted_out', note: 'The contact asked for no more messages' },
  'number-opted-out': { label: 'opted_out', note: null },
  'number-unreachable': { label: 'undeliverable', note: null },
  'contact-silent': { label: 'dormant', note: 'The contact did not answer' },
  'link-opened': { label: 'link_clicked', note: 'The contact opened a link of a message' },
  'quoted-recorded': { label: 'quoted', note: null },
  'sold-recorded': { label: 'sold', note: null },
  'custom_conversion-recorded': { label: 'custom_conversion', note: null },
} as const satisfies Readonly<Record<string, Fired>>

export type Trigger = keyof typeof triggers

/** Triggers that end an engagement because its contact can't, or may not, be written to. */
export type GivingUp = Extract<
  Trigger,
  'opted-out-before' | 'no-hour' | 'consent-refused' | 'number-opted-out' | 'number-unreachable'
>

/** Only the service knows of these. All others a person, or telephony, may report. */
const unreportable: ReadonlySet<ActivityLabel> = new Set(['started', 'filtered', 'quoted', 'sold', 'custom_conversion'])

export const isReportable = (label: ActivityLabel): boolean => !unreportable.has(label)
