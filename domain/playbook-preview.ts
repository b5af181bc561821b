import type { FollowUp } from './follow-up.js'
import { later, type Instant } from './instant.js'
import { segmentsOf, type Segments } from './message-segments.js'
import { messageOf, type FieldValues } from './message-template.js'
import type { PlaybookSettings } from './playbook.js'
import { dayIsFullUntil, sendingTime } from './quiet-hours.js'
import { hoursFor } from './step-times.js'
import { linkCodeFrom, linkUrl } from './tracked-link.js'

/** A message as a lead would get it: `at` what time, null where there is no hour for it, and why not sooner. */
type PreviewedMessage = Segments & {
  readonly text: string
  readonly at: Instant | null
  readonly held_by: string | null
}

type PlaybookPreview = {
  readonly messages: ReadonlyArray<PreviewedMessage>
  /** What may be wrong with them, in sentences. */
  readonly warnings: ReadonlyArray<string>
}

type Previewed = {
  readonly settings: PlaybookSettings
  readonly accountTitle: string
  /** Where people reach the service. */
  readonly site: string
  /** Of the lead. */
  readonly fields: FieldValues
  /** How it would stand when the lead comes. */
  readonly consent: FollowUp['consent']
  readonly submittedAt: Instant
}

const minute = 60_000

/** As long as a real one, and of no message. */
const sampleCode = linkCodeFrom('X'.repeat(26))

/** The messages that a lead would get if it never replied. */
export const previewOf = ({
  settings,
  accountTitle,
  site,
  fields,
  consent,
  submittedAt,
}: Previewed): PlaybookPreview => {
  const hours = hoursFor(settings, fields)
  let sent: Instant | undefined = submittedAt
  let went: ReadonlyArray<Instant> = []
  const messages = settings.steps.map(({ message, delay_minutes }, index): PreviewedMessage => {
    const due: Instant | undefined = sent && later(sent, delay_minutes * minute)
    const awake = due && sendingTime(hours, due, `step ${index}`)
    const allowed = awake && dayIsFullUntil(hours, inDayBefore(awake, went))
    sent = allowed === undefined ? awake : sendingTime(hours, allowed, `step ${index}`)
    const text = messageOf(message, { ...fields, account: accountTitle }, (link) => linkUrl(site, sampleCode, link))
    if (consent === 'refused') return { text, at: null, held_by: refusedConsent, ...segmentsOf(text) }
    went = text === '' || sent === undefined ? went : [...went, sent]
    const verifies = index === 0 && consent === 'awaited'
    return {
      text,
      at: sent ?? null,
      held_by: (allowed === undefined ? heldBack(due, sent) : stateLimit) ?? (verifies ? awaitedConsent : null),
      ...segmentsOf(text),
    }
  })
  const unwatched = settings.quiet_hours === null ? [noQuietHours] : []
  return { messages, warnings: [...warningsFor(messages, accountTitle), ...unwatched] }
}

const noQuietHours =
  'Quiet hours are off, and with them those of the stricter states: the account answers for when it sends.'

const refusedConsent = 'the account accepts no consent of the host of tcpa_opt_in_url'

const awaitedConsent = 'the verification of the consent'

const stateLimit = 'the state allows no more messages a day'

const inDayBefore = (at: Instant, went: ReadonlyArray<Instant>): ReadonlyArray<Instant> =>
  went.filter((one) => one > later(at, -24 * 60 * minute))

const heldBack = (due: Instant | undefined, sent: Instant | undefined): string | null => {
  if (sent === undefined) return 'no hour is left in which it may be sent'
  return sent === due ? null : 'quiet hours, or a day on which nothing is sent'
}

/** Words by which people learn how to end it. */
const stopHint = /\b(?:stop|unsubscribe|opt[ -]?out)\b/i

const warningsFor = (messages: ReadonlyArray<PreviewedMessage>, accountTitle: string): ReadonlyArray<string> => {
  const [first] = messages
  const empty = messages.flatMap(({ text }, index) =>
    text === '' ? [`Message ${index + 1} is blank for this lead, and would not be sent.`] : [],
  )
  if (first === undefined) return []
  const namesSender = first.text.toLowerCase().includes(accountTitle.trim().toLowerCase())
  return [
    ...(namesSender
      ? []
      : ['The first message does not say who writes: {{account}} stands for the title of the account.']),
    ...(stopHint.test(first.text)
      ? []
      : ['The first message does not say how to stop, such as "Reply STOP to opt out".']),
    ...empty,
  ]
}
