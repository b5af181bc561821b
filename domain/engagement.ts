import { Activity, ActivityLabel, typeOf } from './activity.js'
import { mapOf, NaturalNumber, setOf, t } from './codec.js'
import type { ConversionLabel } from './conversion.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AfterStep, FollowUp } from './follow-up.js'
import {
  AccountId,
  ContactId,
  EngagementId,
  LeadId,
  MessageId,
  PlaybookId,
  RecordId,
  ActivityReportId,
  SourceId,
} from './ids.js'
import { BoundedInstant, Instant, latest, later, strictlyAfter } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { rememberedReports, withReport } from './remembered-reports.js'
import type { ReplyMeaning } from './reply-meaning.js'
import { ResidenceState } from './residence-state.js'
import { consentFailingSince, nextConsentCheckAt } from './retry-schedule.js'
import { endsCall, mayBeOfCall } from './scheduled-call.js'
import { isReportable, triggers, type GivingUp, type Trigger } from './trigger.js'

const Attribution = t.type(
  {
    engagement_id: EngagementId,
    account_id: AccountId,
    contact_id: ContactId,
    lead_id: LeadId,
    source_id: SourceId,
    playbook_id: PlaybookId,
  },
  'Attribution',
)
export type Attribution = t.TypeOf<typeof Attribution>

export const EngagementEvent = t.union([
  /**
   * `submitted_at` and `state`, where it lives, are of the lead; `follow_up` says what the playbook does, where it
   * sends something. Where it does not, `awaits_consent` says that what a member writes waits until the consent is
   * verified. Older versions wrote none of them.
   */
  eventOf(
    'EngagementStarted',
    t.intersection([
      Attribution,
      t.partial({
        submitted_at: Instant,
        state: ResidenceState,
        follow_up: FollowUp,
        awaits_consent: t.literal(true),
      }),
    ]),
  ),
  /**
   * `record_id` ties it to the conversion record it stands for, `report_id` to the repeatable activity report that it
   * was, `remark`, a revision in the stream of the engagement's remarks, to what was said of it: older versions stored
   * note and properties in the activity itself. `call_until`: until then a scheduled call holds the steps back. In the
   * report that one call has ended, it is the end of a later call that is still scheduled.
   */
  eventOf(
    'ActivityRecorded',
    t.intersection([
      t.type({ activity: Activity, record_id: t.union([RecordId, t.null]) }),
      t.partial({ report_id: ActivityReportId, remark: NaturalNumber, call_until: BoundedInstant }),
    ]),
  ),
  /**
   * `reason`: the outcome's label, `conversion`, `erased`, or `superseded`: the contact has too many newer engagements.
   */
  eventOf('EngagementEnded', t.type({ engagement_id: EngagementId, reason: t.string, ended_at: Instant })),
  /** Decided right before each attempt to send the message of a step, which counts from 0. */
  eventOf(
    'StepBegun',
    t.type({ engagement_id: EngagementId, step: NaturalNumber, attempt: NaturalNumber, message_id: MessageId }),
  ),
  eventOf(
    'StepPostponed',
    t.intersection([
      t.type({ engagement_id: EngagementId, step: NaturalNumber, until: Instant, reason: t.string }),
      /** Since when it waits for a month that is not used up. */
      t.partial({ limited_since: Instant }),
    ]),
  ),
  /** Nothing was sent, such as for a blank message. */
  eventOf(
    'StepSkipped',
    t.intersection([t.type({ engagement_id: EngagementId, step: NaturalNumber, reason: t.string }), AfterStep]),
  ),
  /** No step follows, since the contact has a newer lead. */
  eventOf('StepsEnded', t.type({ engagement_id: EngagementId, gives_up_at: Instant })),
  /** From now on its messages may go out. */
  eventOf('ConsentVerified', t.type({ engagement_id: EngagementId })),
  /** Nobody could tell. `check` counts from 1. */
  eventOf(
    'ConsentCheckFailed',
    t.type({
      engagement_id: EngagementId,
      check: NaturalNumber,
      reason: t.string,
      failed_at: Instant,
      next_check_at: Instant,
    }),
  ),
  /** No step is begun before `paused_until`, so that a person can answer. */
  eventOf(
    'ContactReplied',
    t.type({ engagement_id: EngagementId, message_id: MessageId, paused_until: Instant, gives_up_at: Instant }),
  ),
  /** A member takes over. */
  eventOf('EngagementPaused', t.type({ engagement_id: EngagementId, until: Instant })),
  eventOf('EngagementResumed', t.type({ engagement_id: EngagementId })),
  /** Its contact was erased: nothing more is recorded of it. */
  eventOf('EngagementErased', t.type({ engagement_id: EngagementId })),
])
export type EngagementEvent = t.TypeOf<typeof EngagementEvent>

const Reported = t.type({ label: ActivityLabel, at: Instant }, 'what was recorded of a report')

const AwaitedConsent = t.type({
  /** So many in a row, since then, as `consentFailingSince` counts. */
  failedChecks: NaturalNumber,
  failingSince: t.union([Instant, t.undefined]),
  /** Undefined: at once, whenever something is to be sent. */
  nextCheckAt: t.union([Instant, t.undefined]),
})
type AwaitedConsent = t.TypeOf<typeof AwaitedConsent>

const FollowUpState = t.type({
  playbookVersion: NaturalNumber,
  /** Steps that were begun or skipped. */
  begun: NaturalNumber,
  /** Of the step that was begun last. */
  attempts: NaturalNumber,
  /** Of the step that was begun last; undefined where it was skipped. */
  messageId: t.union([MessageId, t.undefined]),
  /**
   * When the next attempt or step is due; undefined where the message of the last step tells, null where no step
   * follows.
   */
  nextAt: t.union([Instant, t.null, t.undefined]),
  /** Since when the next step waits for a month that is not used up. */
  limitedSince: t.union([Instant, t.undefined]),
})
type FollowUpState = t.TypeOf<typeof FollowUpState>

/** Its snapshot outlives the contact: it may hold nothing that is personal. */
const StartedEngagement = t.type({
  kind: t.literal('started'),
  attribution: Attribution,
  ended: t.boolean,
  erased: t.boolean,
  lastActivityAt: t.union([Instant, t.undefined]),
  records: t.readonlyArray(RecordId),
  /** What was recorded of the newest reports that may be repeated. */
  reports: mapOf(ActivityReportId, Reported),
  /** Undefined where the playbook sends nothing. */
  followUp: t.union([FollowUpState, t.undefined]),
  /** Undefined where nothing is to be verified, or it has been. */
  awaitedConsent: t.union([AwaitedConsent, t.undefined]),
  /** By a member. */
  pausedUntil: t.union([Instant, t.undefined]),
  /** A person may answer what the contact wrote: steps wait until then. */
  answerUntil: t.union([Instant, t.undefined]),
  /** When the last of the calls that were scheduled is over, unless that was reported before. */
  callUntil: t.union([Instant, t.undefined]),
  /** The newest texts of the contact that were heard. */
  replies: t.readonlyArray(MessageId),
  /** Not before this is a silent contact given up, as far as this stream tells: the messages of the steps tell more. */
  givesUpAt: t.union([Instant, t.undefined]),
  labels: setOf(ActivityLabel),
})
export type StartedEngagement = Readonly<t.TypeOf<typeof StartedEngagement>>

const EngagementState = t.union([t.type({ kind: t.literal('unknown') }), StartedEngagement])
export type EngagementState = { readonly kind: 'unknown' } | StartedEngagement

/** Of a text: an engagement hears of no opt-in and no request for help. */
type HeardMeaning = Exclude<ReplyMeaning, 'opted_in' | 'help'>

export type EngagementCommand =
  | {
      readonly type: 'StartEngagement'
      readonly attribution: Attribution
      readonly submittedAt: Instant
      /** Where the lead lives. */
      readonly livesIn?: ResidenceState
      readonly engagedAt: Instant
      readonly filtered: boolean
      readonly followUp?: FollowUp
      /** The playbook sends nothing, and the consent is to be verified before a member writes. */
      readonly awaitsConsent?: boolean
    }
  | {
      readonly type: 'RecordActivity'
      readonly accountId: AccountId
      readonly label: ActivityLabel
      readonly at: Instant
      /** The same where the report is repeated; left out where nobody can tell. */
      readonly reportId?: ActivityReportId
      /** Where what was said of it stands among the remarks of the engagement. */
      readonly remark?: number
      /** Of a call that is scheduled: until when the steps are held back. */
      readonly callUntil?: Instant
    }
  | {
      readonly type: 'RecordConversionActivity'
      readonly recordId: RecordId
      readonly label: ConversionLabel
      readonly title: string
      readonly ends: boolean
      readonly at: Instant
    }
  | { readonly type: 'EndEngagement'; readonly reason: string; readonly at: Instant }
  | {
      readonly type: 'BeginStep'
      readonly step: number
      readonly attempt: number
      readonly messageId: MessageId
      readonly at: Instant
    }
  | {
      readonly type: 'PostponeStep'
      readonly step: number
      readonly until: Instant
      readonly reason: string
      /** Set where it waits for a month that is not used up. */
      readonly limitedSince?: Instant
      /** Where it is not postponed until then any more, nothing is. */
      readonly insteadOf?: Instant | null
    }
  | { readonly type: 'SkipStep'; readonly step: number; readonly reason: string; readonly after: AfterStep }
  | { readonly type: 'EndSteps'; readonly givesUpAt: Instant }
  | { readonly type: 'VerifyConsent' }
  | { readonly type: 'RecordFailedConsentCheck'; readonly check: number; readonly reason: string; readonly at: Instant }
  | {
      readonly type: 'HearReply'
      readonly messageId: MessageId
      readonly meaning: HeardMeaning
      /** Of an opt-out: the report that it stands for, and whether the contact had opted out already. */
      readonly reportId?: ActivityReportId
      readonly optedOutBefore?: boolean
      readonly pausedUntil: Instant
      readonly givesUpAt: Instant
      readonly at: Instant
    }
  | {
      readonly type: 'GiveUp'
      readonly trigger: GivingUp
      /** What the trigger says of its reason. */
      readonly note?: string
      /** Of an opt-out: what it stands for; left out where the contact may have opted out before. */
      readonly reportId?: ActivityReportId
      readonly at: Instant
    }
  /** `givesUpAt`: as the message of its last step tells. */
  | { readonly type: 'EndSilence'; readonly at: Instant; readonly givesUpAt: Instant | undefined }
  | { readonly type: 'PauseEngagement'; readonly accountId: AccountId; readonly until: Instant }
  | { readonly type: 'ResumeEngagement'; readonly accountId: AccountId }
  | {
      readonly type: 'OpenLink'
      /** Of the link. */
      readonly reportId: ActivityReportId
      /** Where it leads to. */
      readonly url: string
      readonly at: Instant
    }
  | { readonly type: 'EraseEngagement'; readonly at: Instant }

export type EngagementRefusal =
  | { readonly kind: 'engagement-not-found' }
  | { readonly kind: 'engagement-ended' }
  /** Another step is next, or nobody may begin one now. */
  | { readonly kind: 'step-not-due' }
  /** The label is fired by the service itself and can't be reported. */
  | { readonly kind: 'label-not-reportable' }

const evolve = (state: EngagementState, event: EngagementEvent): EngagementState => {
  if (event.type === 'EngagementStarted') {
    return {
      kind: 'started',
      attribution: attributionIn(event.data),
      ended: false,
      erased: false,
      lastActivityAt: undefined,
      records: [],
      reports: new Map(),
      followUp: followUpIn(event.data.follow_up),
      awaitedConsent:
        event.data.follow_up?.consent === 'awaited' || event.data.awaits_consent === true ? unchecked : undefined,
      pausedUntil: undefined,
      answerUntil: undefined,
      callUntil: undefined,
      replies: [],
      givesUpAt: undefined,
      labels: new Set(),
    }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ActivityRecorded': {
      const { activity, record_id, report_id, call_until } = event.data
      const { label, at } = activity
      const records = record_id === null ? state.records : [...state.records, record_id]
      const reports = report_id === undefined ? state.reports : withReport(state.reports, report_id, { label, at })
      const callUntil = endsCall(label) ? call_until : latest(state.callUntil, call_until)
      return { ...state, lastActivityAt: at, records, reports, callUntil, labels: new Set([...state.labels, label]) }
    }
    case 'EngagementEnded':
      return { ...state, ended: true }
    case 'EngagementErased':
      return { ...state, erased: true }
    case 'ContactReplied': {
      const { message_id, paused_until, gives_up_at } = event.data
      const replies = [...state.replies, message_id].slice(-rememberedReports)
      return { ...state, replies, answerUntil: latest(state.answerUntil, paused_until), givesUpAt: gives_up_at }
    }
    case 'EngagementPaused':
      return { ...state, pausedUntil: event.data.until }
    case 'EngagementResumed':
      return { ...state, pausedUntil: undefined, answerUntil: undefined, callUntil: undefined }
    case 'ConsentVerified':
      return { ...state, awaitedConsent: undefined }
    case 'ConsentCheckFailed': {
      const { check: failedChecks, failed_at, next_check_at: nextCheckAt } = event.data
      const failingSince = failingSinceAt(state.awaitedConsent, failed_at)
      const awaitedConsent = { failedChecks, failingSince, nextCheckAt }
      const nextAt = state.followUp?.nextAt
      if (state.followUp === undefined || nextAt === null) return { ...state, awaitedConsent }
      // What a member wrote may have it checked before the step is due.
      return { ...state, awaitedConsent, followUp: { ...state.followUp, nextAt: latest(nextCheckAt, nextAt) } }
    }
    default:
      return state.followUp === undefined ? state : afterStepEvent(state, state.followUp, event)
  }
}

/** One more check failed at `at`. */
const failingSinceAt = (awaited: AwaitedConsent | undefined, at: Instant): Instant =>
  awaited?.failingSince === undefined || awaited.nextCheckAt === undefined
    ? at
    : consentFailingSince(awaited.failingSince, awaited.nextCheckAt, at)

const unchecked: AwaitedConsent = { failedChecks: 0, failingSince: undefined, nextCheckAt: undefined }

const followUpIn = (stored: FollowUp | undefined): FollowUpState | undefined =>
  stored && {
    playbookVersion: stored.playbook_version,
    begun: 0,
    attempts: 0,
    messageId: undefined,
    nextAt: stored.first_step_at,
    limitedSince: undefined,
  }

type StepEvent = Extract<
  EngagementEvent,
  { readonly type: 'StepBegun' | 'StepPostponed' | 'StepSkipped' | 'StepsEnded' }
>

const afterStepEvent = (state: StartedEngagement, followUp: FollowUpState, event: StepEvent): StartedEngagement => {
  switch (event.type) {
    case 'StepBegun': {
      const { step, attempt: attempts, message_id: messageId } = event.data
      const begun = { begun: step + 1, attempts, messageId, nextAt: undefined, limitedSince: undefined }
      return { ...state, followUp: { ...followUp, ...begun } }
    }
    case 'StepPostponed':
      return {
        ...state,
        followUp: {
          ...followUp,
          nextAt: event.data.until,
          limitedSince: event.data.limited_since ?? followUp.limitedSince,
        },
      }
    case 'StepSkipped': {
      const { step, next_step_at: nextAt, gives_up_at: givesUpAt } = event.data
      const skipped = { begun: step + 1, messageId: undefined, nextAt, limitedSince: undefined }
      return { ...state, givesUpAt, followUp: { ...followUp, ...skipped } }
    }
    case 'StepsEnded':
      return { ...state, givesUpAt: event.data.gives_up_at, followUp: { ...followUp, nextAt: null } }
    default:
      return unreachable(event)
  }
}

/** Until when no step is begun, since a person answers or a call is scheduled. */
export const heldUntil = (state: StartedEngagement): Instant | undefined =>
  latest(takenOverUntil(state), state.answerUntil)

/** Until when a person sees to the contact: till then a silent one is not given up, either. */
export const takenOverUntil = ({ pausedUntil, callUntil }: StartedEngagement): Instant | undefined =>
  latest(pausedUntil, callUntil)

const attributionIn = (started: Attribution): Attribution => {
  const { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id } = started
  return { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }
}

const decide = (
  command: EngagementCommand,
  state: EngagementState,
): Either<EngagementRefusal, ReadonlyArray<EngagementEvent>> => {
  if (command.type === 'StartEngagement') return E.right(state.kind === 'started' ? [] : start(command))
  if (state.kind === 'unknown')
    return command.type === 'EraseEngagement' ? E.right([]) : E.left({ kind: 'engagement-not-found' })
  const { attribution } = state
  switch (command.type) {
    case 'RecordActivity': {
      if (attribution.account_id !== command.accountId || state.erased) return E.left({ kind: 'engagement-not-found' })
      const { label, reportId, remark } = command
      if (reportId !== undefined && state.reports.has(reportId)) return E.right([])
      if (!isReportable(label)) return E.left({ kind: 'label-not-reportable' })
      const isOutcome = typeOf(label) === 'outcome'
      // A contact that opts out is heard, even where the engagement has ended.
      if (isOutcome && label !== 'opted_out' && state.ended) return E.left({ kind: 'engagement-ended' })
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const what = { label, note: null, properties: {}, at }
      const callUntil = endsCall(label) ? laterCall(state, at) : command.callUntil
      const activity = recorded(attribution, what, null, {
        ...(reportId === undefined ? {} : { report_id: reportId }),
        ...(remark === undefined ? {} : { remark }),
        ...(callUntil === undefined ? {} : { call_until: callUntil }),
      })
      return E.right(isOutcome && !state.ended ? [activity, ended(attribution, label, at)] : [activity])
    }
    case 'RecordConversionActivity': {
      const { recordId, label, title, ends } = command
      if (state.erased || state.records.includes(recordId)) return E.right([])
      const at = strictlyAfter(state.lastActivityAt, command.at)
      const properties = label === 'custom_conversion' ? { title } : {}
      const what = { ...triggers[`${label}-recorded`], note: `${title} was recorded` }
      const activity = recorded(attribution, { ...what, properties, at }, recordId)
      return E.right(ends && !state.ended ? [activity, ended(attribution, 'conversion', at)] : [activity])
    }
    case 'EndEngagement':
      return E.right(state.ended ? [] : [ended(attribution, command.reason, command.at)])
    case 'EraseEngagement': {
      if (state.erased) return E.right([])
      const { engagement_id } = attribution
      const erased: EngagementEvent = { type: 'EngagementErased', data: { engagement_id } }
      return E.right(state.ended ? [erased] : [ended(attribution, 'erased', command.at), erased])
    }
    case 'HearReply':
      return E.right(hear(command, state))
    case 'OpenLink':
      return E.right(openLink(command, state))
    case 'GiveUp':
      return E.right(giveUp(command, state))
    case 'PauseEngagement':
    case 'ResumeEngagement': {
      if (attribution.account_id !== command.accountId || state.erased) return E.left({ kind: 'engagement-not-found' })
      if (state.ended) return E.left({ kind: 'engagement-ended' })
      const { engagement_id } = attribution
      if (command.type === 'PauseEngagement') {
        // It never ends before the pause of a reply that came before.
        const until = latest(command.until, state.answerUntil)
        return E.right(
          state.pausedUntil === until ? [] : [{ type: 'EngagementPaused', data: { engagement_id, until } }],
        )
      }
      return E.right(heldUntil(state) === undefined ? [] : [{ type: 'EngagementResumed', data: { engagement_id } }])
    }
    case 'BeginStep':
    case 'PostponeStep':
    case 'SkipStep':
    case 'EndSteps':
    case 'EndSilence':
    case 'VerifyConsent':
    case 'RecordFailedConsentCheck':
      return step(command, state)
    default:
      return unreachable(command)
  }
}

/** The end of a scheduled call that a report at this time can't be about: it still holds the steps back. */
const laterCall = ({ callUntil }: StartedEngagement, at: Instant): Instant | undefined =>
  callUntil === undefined || mayBeOfCall(callUntil, at) ? undefined : callUntil

/**
 * What a text fires. After an outcome nothing but an opt-out is heard: also a second one, where the contact opted in
 * meanwhile, and none once it was erased.
 */
const hear = (
  command: Extract<EngagementCommand, { readonly type: 'HearReply' }>,
  state: StartedEngagement,
): ReadonlyArray<EngagementEvent> => {
  const { messageId: message_id, pausedUntil: paused_until, givesUpAt: gives_up_at, at, meaning } = command
  const { attribution, ended: isEnded, labels, replies } = state
  if (replies.includes(message_id)) return []
  if (meaning === 'opted_out') {
    if (!isNewOptOut(command, state)) return []
    const events = outcome(state, 'asked-to-stop', at, undefined, reportOf(command))
    return isEnded ? events.slice(0, 1) : events
  }
  if (isEnded) return []
  const { engagement_id } = attribution
  const replied: EngagementEvent = {
    type: 'ContactReplied',
    data: { engagement_id, message_id, paused_until, gives_up_at },
  }
  const isRefusal = meaning === 'unqualified' || meaning === 'not_interested'
  const fires = labels.has('interested') || isRefusal ? [] : [fired(state, 'contact-replied', at)]
  if (meaning === 'reply') return [replied, ...fires]
  return [replied, ...fires, ...outcome(fires.reduce(evolve, state) as StartedEngagement, `rule-says-${meaning}`, at)]
}

type OptOutReport = { readonly reportId?: ActivityReportId | undefined; readonly optedOutBefore?: boolean }

/** Whether the engagement has not told it. */
const isNewOptOut = (
  { reportId, optedOutBefore }: OptOutReport,
  { erased, labels, reports }: StartedEngagement,
): boolean => {
  const isReported = reportId !== undefined && reports.has(reportId)
  return !erased && !isReported && !(optedOutBefore === true && labels.has('opted_out'))
}

const reportOf = ({ reportId }: OptOutReport): Report | undefined =>
  reportId === undefined ? undefined : { report_id: reportId }

/** After the end nothing is fired but that the contact opted out, since other messages must not go to it either. */
const giveUp = (
  { trigger, note, reportId, at }: Extract<EngagementCommand, { readonly type: 'GiveUp' }>,
  state: StartedEngagement,
): ReadonlyArray<EngagementEvent> => {
  const report = reportOf({ reportId })
  if (!state.ended) return outcome(state, trigger, at, note, report)
  const told = { reportId, optedOutBefore: reportId === undefined }
  return trigger === 'number-opted-out' && isNewOptOut(told, state) ? [fired(state, trigger, at, note, report)] : []
}

/** Only the first opening of a link counts, and after an outcome none. */
const openLink = (
  { reportId, url, at: when }: Extract<EngagementCommand, { readonly type: 'OpenLink' }>,
  { attribution, erased, labels, lastActivityAt, reports }: StartedEngagement,
): ReadonlyArray<EngagementEvent> => {
  const hasOutcome = [...labels].some((label) => typeOf(label) === 'outcome')
  if (erased || hasOutcome || reports.has(reportId)) return []
  const what = { ...triggers['link-opened'], properties: { url }, at: strictlyAfter(lastActivityAt, when) }
  return [recorded(attribution, what, null, { report_id: reportId })]
}

const fired = (
  { attribution, lastActivityAt }: Pick<StartedEngagement, 'attribution' | 'lastActivityAt'>,
  trigger: Trigger,
  when: Instant,
  note: string | null = triggers[trigger].note,
  report?: Report,
): EngagementEvent => {
  const { label } = triggers[trigger]
  return recorded(attribution, { label, note, properties: {}, at: strictlyAfter(lastActivityAt, when) }, null, report)
}

const outcome = (
  state: StartedEngagement,
  trigger: Trigger,
  when: Instant,
  note?: string,
  report?: Report,
): readonly [EngagementEvent, EngagementEvent] => {
  const at = strictlyAfter(state.lastActivityAt, when)
  return [fired(state, trigger, when, note, report), ended(state.attribution, triggers[trigger].label, at)]
}

type StepCommand = Extract<
  EngagementCommand,
  {
    readonly type:
      | 'BeginStep'
      | 'PostponeStep'
      | 'SkipStep'
      | 'EndSteps'
      | 'EndSilence'
      | 'VerifyConsent'
      | 'RecordFailedConsentCheck'
  }
>

/**
 * A step is never begun early, before the consent was verified, while a person answers, after the end, or where another
 * one is next.
 */
const step = (
  command: StepCommand,
  state: StartedEngagement,
): Either<EngagementRefusal, ReadonlyArray<EngagementEvent>> => {
  const { followUp, awaitedConsent, attribution } = state
  const { engagement_id } = attribution
  if (state.ended) return E.left({ kind: 'engagement-ended' })
  if (command.type === 'VerifyConsent')
    return E.right(awaitedConsent === undefined ? [] : [{ type: 'ConsentVerified', data: { engagement_id } }])
  if (command.type === 'RecordFailedConsentCheck') return E.right(recordFailedCheck(command, state))
  if (followUp === undefined) return E.left({ kind: 'step-not-due' })
  if (command.type === 'EndSteps') {
    const gives_up_at = command.givesUpAt
    return E.right(followUp.nextAt === null ? [] : [{ type: 'StepsEnded', data: { engagement_id, gives_up_at } }])
  }
  if (command.type === 'EndSilence') {
    const notBefore = [takenOverUntil(state), state.givesUpAt, command.givesUpAt]
    if (notBefore.some((instant) => instant !== undefined && instant > command.at))
      return E.left({ kind: 'step-not-due' })
    return E.right(outcome(state, 'contact-silent', command.at))
  }
  const { begun, messageId, nextAt } = followUp
  const isAgain = command.step === begun - 1 && messageId !== undefined
  if ((command.step !== begun && !isAgain) || nextAt === null) return E.left({ kind: 'step-not-due' })
  switch (command.type) {
    case 'BeginStep': {
      const { step: number, attempt, messageId: message_id, at } = command
      if (isAgain && attempt === followUp.attempts) return E.right([])
      if (attempt !== (isAgain ? followUp.attempts + 1 : 1)) return E.left({ kind: 'step-not-due' })
      if (awaitedConsent !== undefined) return E.left({ kind: 'step-not-due' })
      if ([heldUntil(state), nextAt].some((instant) => instant !== undefined && instant > at))
        return E.left({ kind: 'step-not-due' })
      return E.right([{ type: 'StepBegun', data: { engagement_id, step: number, attempt, message_id } }])
    }
    case 'PostponeStep': {
      const { step: number, until, reason, limitedSince: limited_since, insteadOf } = command
      if (insteadOf !== undefined && insteadOf !== nextAt) return E.left({ kind: 'step-not-due' })
      const limited = limited_since === undefined ? {} : { limited_since }
      const postponed = { engagement_id, step: number, until, reason, ...limited }
      return E.right(nextAt === until ? [] : [{ type: 'StepPostponed', data: postponed }])
    }
    case 'SkipStep': {
      const { step: number, reason, after } = command
      return E.right([{ type: 'StepSkipped', data: { engagement_id, step: number, reason, ...after } }])
    }
    default:
      return unreachable(command)
  }
}

/** Whoever can't verify a consent for a day must not send. */
const recordFailedCheck = (
  { check, reason, at }: Extract<EngagementCommand, { readonly type: 'RecordFailedConsentCheck' }>,
  state: StartedEngagement,
): ReadonlyArray<EngagementEvent> => {
  const { awaitedConsent } = state
  if (awaitedConsent === undefined || check !== awaitedConsent.failedChecks + 1) return []
  const next_check_at = nextConsentCheckAt(check, failingSinceAt(awaitedConsent, at), at)
  if (next_check_at === undefined) return outcome(state, 'consent-unverified', at)
  const { engagement_id } = state.attribution
  return [{ type: 'ConsentCheckFailed', data: { engagement_id, check, reason, failed_at: at, next_check_at } }]
}

const start = (
  command: Extract<EngagementCommand, { readonly type: 'StartEngagement' }>,
): ReadonlyArray<EngagementEvent> => {
  const { attribution, submittedAt, livesIn, engagedAt: at, filtered, followUp, awaitsConsent } = command
  const { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id } = attribution
  const data = {
    engagement_id,
    account_id,
    contact_id,
    lead_id,
    source_id,
    playbook_id,
    submitted_at: submittedAt,
    ...(livesIn === undefined ? {} : { state: livesIn }),
    ...(followUp === undefined ? {} : { follow_up: followUp }),
    ...(awaitsConsent === true ? { awaits_consent: true as const } : {}),
  }
  const started: EngagementEvent = { type: 'EngagementStarted', data }
  const before = { attribution, lastActivityAt: undefined }
  const begun = [started, fired(before, 'playbook-started', at)]
  const refusal = filtered ? 'opted-out-before' : refusalOf(followUp)
  if (refusal === undefined) return begun
  const filteredAt = later(at, 1)
  return [...begun, fired(before, refusal, filteredAt), ended(attribution, 'filtered', filteredAt)]
}

const refusalOf = (followUp: FollowUp | undefined): Trigger | undefined => {
  if (followUp?.consent === 'refused') return 'host-not-accepted'
  return followUp?.first_step_at === null ? 'no-hour' : undefined
}

type Report = { readonly report_id?: ActivityReportId; readonly remark?: number; readonly call_until?: Instant }

/**
 * Its activity is written out field by field, as `recordedAs` is: one is made for every lead, and most of what happens.
 */
const recorded = (
  { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }: Attribution,
  { label, note, properties, at }: Pick<Activity, 'label' | 'note' | 'properties' | 'at'>,
  recordId: RecordId | null,
  report: Report = {},
): EngagementEvent => ({
  type: 'ActivityRecorded',
  data: {
    activity: {
      engagement_id,
      account_id,
      contact_id,
      lead_id,
      source_id,
      playbook_id,
      type: typeOf(label),
      label,
      note,
      properties,
      at,
    },
    record_id: recordId,
    ...report,
  },
})

const ended = (attribution: Attribution, reason: string, at: Instant): EngagementEvent => ({
  type: 'EngagementEnded',
  data: { engagement_id: attribution.engagement_id, reason, ended_at: at },
})

export const engagement: Decider<EngagementState, EngagementCommand, EngagementEvent, EngagementRefusal> = {
  category: 'engagement',
  initial: { kind: 'unknown' },
  evolve,
  snapshot: { version: 3, codec: EngagementState },
  decide,
}
