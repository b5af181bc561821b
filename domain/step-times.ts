import { minute } from './duration.js'
import type { AfterStep, FollowUp } from './follow-up.js'
import { later, type Instant } from './instant.js'
import type { LeadDetails } from './lead.js'
import { fieldsOf, type FieldValues } from './message-template.js'
import { phoneFromText } from './phone.js'
import type { PlaybookSettings } from './playbook-settings.js'
import { sendingHoursOf, sendingTime, type SendingHours } from './quiet-hours.js'
import { residenceStateNamed } from './residence-state.js'
import { whereaboutsOf } from './whereabouts.js'

/** When messages of these settings may be sent to somebody of whom this is known. */
export const hoursFor = (
  settings: PlaybookSettings,
  { current_residence_zip: zip, current_residence_state: state = '', phone = '' }: FieldValues,
): SendingHours =>
  sendingHoursOf(settings, whereaboutsOf({ zip, state: residenceStateNamed(state), phone: phoneFromText(phone) }))

/** Undefined where the playbook sends nothing. `key`, such as the id of the engagement, decides where in a morning. */
export const followUpOf = (
  { settings, version }: { readonly settings: PlaybookSettings; readonly version: number },
  details: LeadDetails,
  now: Instant,
  key: string,
): FollowUp | undefined => {
  const [first] = settings.steps
  if (first === undefined) return undefined
  const due = later(now, first.delay_minutes * minute)
  const at = sendingTime(hoursFor(settings, fieldsOf(details)), due, stepKey(key, 0))
  return { playbook_version: version, first_step_at: at ?? null }
}

/** What comes after `step`, counted from 0, which was over at `at`. */
export const afterStep = (
  settings: PlaybookSettings,
  hours: SendingHours,
  step: number,
  at: Instant,
  key: string,
): AfterStep => {
  const next = settings.steps[step + 1]
  const due = next && later(at, next.delay_minutes * minute)
  return {
    next_step_at: (due && sendingTime(hours, due, stepKey(key, step + 1))) ?? null,
    gives_up_at: later(at, settings.give_up_after_minutes * minute),
  }
}

/** Steps of one engagement wait for different minutes of a morning. */
export const stepKey = (key: string, step: number): string => `${key}/${step}`
