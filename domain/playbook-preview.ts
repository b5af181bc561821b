import { day, minute } from './duration.js'
import type { FollowUp } from './follow-up.js'
import { later, monthOf, nextMonthAfter, type Instant } from './instant.js'
import { segmentsOf, type Segments } from './message-segments.js'
import { messageOf, type FieldValues } from './message-template.js'
import type { PlaybookSettings } from './playbook-settings.js'
import { longestLimited, postpone, segmentsUsedUp } from './postponement.js'
import { dayIsFullUntil, sendingTime, stepsAreFullUntil, type SendingHours } from './quiet-hours.js'
import { hoursFor } from './step-times.js'
import { linkCodeFrom, linkUrl } from './tracked-link.js'

/** A message as a lead would get it: `at` what time, null where it would not be sent, and why not sooner. */
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

/** How many segments an account may send in a month, and has sent in one such as 2026-01. */
export type SegmentLimit = { readonly perMonth: number; readonly month: string; readonly used: number }

type Previewed = {
  readonly settings: PlaybookSettings
  /** As it is now. */
  readonly account: {
    readonly title: string
    readonly enabled: boolean
    /** While the provider lets nothing of its sender through. */
    readonly held: { readonly since: Instant; readonly until: Instant } | undefined
    /** Undefined: as many segments as there are. */
    readonly limit: SegmentLimit | undefined
  }
  /** Where people reach the service. */
  readonly site: string
  /** Of the lead. */
  readonly fields: FieldValues
  /** How it would stand when the lead comes. */
  readonly consent: FollowUp['consent']
  readonly submittedAt: Instant
}

/** As long as a real one, and of no message. */
const sampleCode = linkCodeFrom('X'.repeat(26))

/** The messages that a lead would get if it never replied. */
export const previewOf = (previewed: Previewed): PlaybookPreview => {
  const { settings, account, site, fields, consent, submittedAt } = previewed
  const hours = hoursFor(settings, fields)
  const never = neverBecause(previewed)
  let from: Instant | undefined = submittedAt
  let went: ReadonlyArray<Sent> = []
  const messages = settings.steps.map(({ message, delay_minutes }, index): PreviewedMessage => {
    const text = messageOf(message, { ...fields, account: account.title }, (link) => linkUrl(site, sampleCode, link))
    const cost = segmentsOf(text)
    if (never !== undefined) return { text, at: null, held_by: never, ...cost }
    const due = from && later(from, delay_minutes * minute)
    const wake = (at: Instant): Instant | undefined => sendingTime(hours, at, `step ${index}`)
    const held = due && heldBack(previewed, { due, hours, wake, went, segments: cost.segments })
    if (held === undefined) return { text, at: null, held_by: noHour, ...cost }
    from = held.at ?? held.droppedAt
    if (text !== '' && held.at !== undefined) went = [...went, { at: held.at, segments: cost.segments }]
    const verifies = index === 0 && consent === 'awaited'
    return { text, at: held.at ?? null, held_by: held.by ?? (verifies ? awaitedConsent : null), ...cost }
  })
  const unwatched = settings.quiet_hours === null ? [noQuietHours] : []
  const warnings = [...warningsFor(settings, account.title), ...blankAmong(messages), ...unwatched]
  return { messages, warnings }
}

const noQuietHours =
  'Quiet hours are off, and with them those of the stricter states: the account answers for when it sends.'

const noHour = 'no hour is left in which it may be sent'

const awaitedConsent = 'the verification of the consent'

/** Why no message of the playbook would be sent; undefined where some may be. */
const neverBecause = ({ account, consent, submittedAt }: Previewed): string | undefined => {
  if (consent === 'refused') return 'the account accepts no consent of the host of tcpa_opt_in_url'
  return account.enabled ? undefined : postpone.whileDisabled(submittedAt).reason
}

type Sent = { readonly at: Instant; readonly segments: number }

type Due = {
  readonly due: Instant
  readonly hours: SendingHours
  /** When a message that may go out then is sent; undefined where there is no hour for it. */
  readonly wake: (at: Instant) => Instant | undefined
  readonly went: ReadonlyArray<Sent>
  readonly segments: number
}

/** `at` what time a message goes out, or when it is dropped, and what held it back last. */
type Held = { readonly at: Instant | undefined; readonly droppedAt?: Instant; readonly by: string | undefined }

/** In the order in which `nextActionOf` asks; undefined where no hour is left. */
const heldBack = ({ account }: Previewed, { due, hours, wake, went, segments }: Due): Held | undefined => {
  const awake = wake(due)
  if (awake === undefined) return undefined
  let at = awake
  let by = at === due ? undefined : 'quiet hours, or a day on which nothing is sent'
  const inDay = inDayBefore(at, went)
  const ofState = dayIsFullUntil(hours, inDay)
  const full = ofState ?? stepsAreFullUntil(inDay)
  if (full !== undefined) {
    at = wake(full) ?? full
    by = (ofState === undefined ? postpone.forManyMessages : postpone.forStateLimit)(full).reason
  }
  if (isUsedUp(account.limit, went, at, segments)) {
    const next = nextMonthAfter(at)
    by = segmentsUsedUp
    if (next >= later(at, longestLimited)) return { at: undefined, droppedAt: later(at, longestLimited), by }
    at = wake(next) ?? next
  }
  if (account.held !== undefined && at >= account.held.since && at < account.held.until) {
    const { until } = account.held
    at = wake(until) ?? until
    by = postpone.forHeldSender(until).reason
  }
  return { at, by }
}

const inDayBefore = (at: Instant, went: ReadonlyArray<Sent>): ReadonlyArray<Instant> =>
  went.flatMap((one) => (one.at > later(at, -day) ? [one.at] : []))

const isUsedUp = (
  limit: SegmentLimit | undefined,
  went: ReadonlyArray<Sent>,
  at: Instant,
  segments: number,
): boolean => {
  if (limit === undefined) return false
  const month = monthOf(at)
  const before = went.reduce((sum, sent) => (monthOf(sent.at) === month ? sum + sent.segments : sum), 0)
  return (month === limit.month ? limit.used : 0) + before + segments > limit.perMonth
}

/** Words by which people learn how to end it: one that opts out in capitals, or after what they are to do with it. */
const stopHints: ReadonlyArray<RegExp> = [
  /\b(?:STOP|STOPALL|UNSUBSCRIBE|CANCEL|END|QUIT|REVOKE|OPTOUT|ALTO|BASTA|CANCELAR|PARE|PARAR)\b/,
  /\b(?:unsubscribe|opt[ -]?out)\b/i,
  /\b(?:reply|text|txt|send|write|answer|type|respond[ae]?|escrib[ae]|env[ií][ae])\b[^\p{L}\n]*(?:with |con )?[^\p{L}\n]*(?:stop|cancel|end|quit|alto|basta|parar?)\b/iu,
]

/** Of the first message. What a lead is called, or writes, names no sender. */
const warningsFor = ({ steps }: PlaybookSettings, title: string): ReadonlyArray<string> => {
  const [first] = steps
  if (first === undefined) return []
  const text = messageOf(first.message, { account: title }, () => '')
  const name = messageOf('{{account}}', { account: title }, () => '')
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  const namesSender = new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'iu').test(text)
  return [
    ...(namesSender
      ? []
      : ['The first message does not say who writes: {{account}} stands for the title of the account.']),
    ...(stopHints.some((hint) => hint.test(text))
      ? []
      : ['The first message does not say how to stop, such as "Reply STOP to opt out".']),
  ]
}

const blankAmong = (messages: ReadonlyArray<PreviewedMessage>): ReadonlyArray<string> =>
  messages.flatMap(({ text }, index) =>
    text === '' ? [`Message ${index + 1} is blank for this lead, and would not be sent.`] : [],
  )
