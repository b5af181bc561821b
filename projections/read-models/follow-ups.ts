import { engagement } from '../../domain/engagement.js'
import type { EventOf } from '../../domain/events.js'
import type { AfterStep } from '../../domain/follow-up.js'
import type { AccountId, ContactId, EngagementId, LeadId, PlaybookId, SourceId } from '../../domain/ids.js'
import { stepOver } from '../../domain/message.js'
import { latest, millisecondsOf, type Instant } from '../../domain/instant.js'
import { endsCall } from '../../domain/scheduled-call.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'
import { contactShards, waitingFieldsOf } from './contact-shards.js'

/** An engagement that its playbook follows up. */
export type FollowUpDocument = {
  readonly account_id: AccountId
  readonly id: EngagementId
  readonly contact_id: ContactId
  readonly lead_id: LeadId
  readonly source_id: SourceId
  readonly playbook_id: PlaybookId
  readonly playbook_version: number
  readonly account_state: string
  readonly playbook_state: string
  readonly state: 'running' | 'paused' | 'ended'
  /** How it ended; null while it has not. */
  readonly reason: string | null
  readonly started_at: Instant
  readonly steps_done: number
  /** Steps of which nothing was sent, and why. Steps count from 0. */
  readonly steps_skipped: ReadonlyArray<{ readonly step: number; readonly reason: string }>
  /** When the next step, or the next attempt of it, is due; null where none follows. */
  readonly next_step_at: Instant | null
  readonly paused_until: Instant | null
  /** Present only while a member has paused it: until then a silent contact is not given up, either. */
  readonly taken_over_until?: Instant
  /** Present only while a scheduled call holds the steps back: until then at most. */
  readonly call_until?: Instant
  /** When a silent contact is given up; null before the first step is over. */
  readonly gives_up_at: Instant | null
  /** Present only until the consent is verified: nothing is sent before. */
  readonly consent?: 'awaited'
  /** Present only while its last step's message is neither sent nor given up, though it may have ended: since when. */
  readonly message_pending_since?: Instant
  /** Present only while something is due: in which queue, and when. */
  readonly queue?: string
  readonly next_at?: Instant
  /** As `waitingFieldsOf` gives them: present only while its next step waits for its account. */
  readonly waits_in?: string
  readonly waits_for?: string
}

/**
 * First messages have a queue of their own, so that none waits for what is late. So have those whose consent is to be
 * verified, so that none waits for whoever does that.
 */
export const followUpQueueOf = (shard: string, kind: 'first' | 'later' | 'consent'): string => `${shard}/${kind}`

type Facts = Omit<FollowUpDocument, 'account_state' | 'playbook_state' | 'queue' | 'next_at'>

/** Its states and queues follow from the rest. */
const derived = (facts: Facts): FollowUpDocument => {
  const { account_id, playbook_id, contact_id, state, steps_done, next_step_at, gives_up_at } = facts
  const states = { account_state: `${account_id}/${state}`, playbook_state: `${playbook_id}/${state}` }
  const due = state === 'ended' ? (facts.message_pending_since ?? null) : (next_step_at ?? gives_up_at)
  if (due === null) return { ...facts, ...states }
  const pausedUntil = next_step_at === null ? facts.taken_over_until : facts.paused_until
  const next_at = latest(due, pausedUntil, facts.call_until)
  const timely = steps_done === 0 && isSoonAfter(facts.started_at, next_at) ? 'first' : 'later'
  const kind = facts.consent === undefined ? timely : 'consent'
  return { ...facts, ...states, queue: followUpQueueOf(contactShards.of(contact_id), kind), next_at }
}

/** Speed to lead counts where a first message is due with its lead, not where it waits for the morning. */
const isSoonAfter = (one: Instant, other: Instant): boolean => millisecondsOf(other) - millisecondsOf(one) < 60_000

const factsIn = ({ queue: _queue, next_at: _next, ...facts }: FollowUpDocument): Facts => facts

const changed = (document: FollowUpDocument, change: Partial<Facts>): FollowUpDocument =>
  document.state === 'ended'
    ? document
    : derived({ ...('next_step_at' in change ? withoutWait(factsIn(document)) : factsIn(document)), ...change })

/** A pause, or a call, that was over at `time` holds nothing back any more. */
const withoutPast = (document: FollowUpDocument, time: Instant): FollowUpDocument => {
  const { paused_until, call_until } = document
  const isPauseOver = paused_until !== null && paused_until <= time
  const isCallOver = call_until !== undefined && call_until <= time
  if (document.state === 'ended' || !(isPauseOver || isCallOver)) return document
  const facts = isCallOver ? withoutCall(factsIn(document)) : factsIn(document)
  return derived(isPauseOver ? unpaused(facts) : facts)
}

const unpaused = ({ taken_over_until: _until, ...facts }: Facts): Facts => ({
  ...facts,
  state: 'running',
  paused_until: null,
})

const withoutCall = ({ call_until: _call, ...facts }: Facts): Facts => facts

const withPending = (document: FollowUpDocument, message_pending_since: Instant): FollowUpDocument =>
  derived({ ...withoutWait(factsIn(document)), message_pending_since })

const withoutPending = (document: FollowUpDocument): FollowUpDocument => {
  const { message_pending_since: _since, ...facts } = factsIn(document)
  return derived(facts)
}

const withoutWait = ({ waits_in: _in, waits_for: _for, ...facts }: Facts): Facts => facts

const withoutConsent = ({ consent: _consent, ...facts }: Facts): Facts => facts

const withSkipped = (
  document: FollowUpDocument,
  { step, reason }: { readonly step: number; readonly reason: string },
): FollowUpDocument => changed(document, { steps_skipped: [...document.steps_skipped, { step, reason }] })

/** What comes after a step that is over. */
const afterStep = (document: FollowUpDocument, step: number, { next_step_at, gives_up_at }: AfterStep) =>
  changed(document, { steps_done: step + 1, next_step_at, gives_up_at })

export const followUps: Projection<FollowUpDocument> = {
  name: 'follow_ups',
  version: 7,
  categories: ['engagement', 'message'],
  indexes: {
    due: ['queue', 'next_at'],
    waiting: ['waits_in', 'waits_for'],
    by_account: ['account_state', 'started_at'],
    by_playbook: ['playbook_state', 'started_at'],
  },
  createdBy: new Set(['EngagementStarted']),
  keyOf: (event) => {
    switch (event.type) {
      case 'EngagementStarted':
        return event.data.follow_up === undefined ? undefined : event.data.engagement_id
      case 'EngagementEnded':
      case 'EngagementErased':
      case 'StepPostponed':
      case 'StepSkipped':
      case 'StepsEnded':
      case 'ConsentVerified':
      case 'ConsentCheckFailed':
      case 'ContactReplied':
      case 'EngagementPaused':
      case 'EngagementResumed':
        return idIn(engagement, event.stream)
      case 'ActivityRecorded':
        return concernsCall(event.data) ? idIn(engagement, event.stream) : undefined
      case 'MessageBegun':
      case 'MessageAttemptFailed':
      case 'MessageSent':
      case 'MessageFailed':
        return event.data.step === undefined ? undefined : event.data.engagement_id
      default:
        return undefined
    }
  },
  evolve: (before, event) => {
    if (event.type === 'EngagementStarted') return begun(event)
    if (before === undefined) return undefined
    const document = withoutPast(before, event.time)
    switch (event.type) {
      case 'EngagementEnded': {
        const ended = { state: 'ended', reason: event.data.reason, next_step_at: null } as const
        return derived({ ...unpaused(withoutCall(withoutWait(factsIn(document)))), ...ended })
      }
      // What its messages said of it goes with them.
      case 'EngagementErased':
        return undefined
      case 'StepPostponed':
        return changed(document, {
          next_step_at: event.data.until,
          ...waitingFieldsOf(document, event.data.reason, document.started_at),
        })
      case 'StepSkipped':
        return afterStep(withSkipped(document, event.data), event.data.step, event.data)
      case 'MessageBegun':
        return withPending(document, event.time)
      case 'MessageSent':
      case 'MessageFailed': {
        const over = stepOver(event.data)
        const closed = withoutPending(document)
        return over === undefined ? closed : afterStep(closed, over.step, over.after)
      }
      case 'StepsEnded':
        return changed(document, { next_step_at: null, gives_up_at: event.data.gives_up_at })
      case 'ActivityRecorded': {
        const { call_until, activity } = event.data
        if (call_until !== undefined) {
          const before = endsCall(activity.label) ? undefined : document.call_until
          return changed(document, { call_until: latest(call_until, before) })
        }
        return document.state === 'ended' ? document : derived(withoutCall(factsIn(document)))
      }
      case 'ConsentVerified':
        return document.state === 'ended' ? document : derived(withoutConsent(factsIn(document)))
      case 'ConsentCheckFailed':
        // It may be for what a member wrote, once no step follows. A step that waits for its account still does.
        if (document.next_step_at === null) return document
        return derived({ ...factsIn(document), next_step_at: latest(document.next_step_at, event.data.next_check_at) })
      case 'MessageAttemptFailed': {
        const { step = 0, next_attempt_at } = event.data
        // Where the next step has begun it is too late for this one.
        if (step < document.steps_done - 1) return document
        return withPending(changed(document, { next_step_at: next_attempt_at }), event.time)
      }
      case 'ContactReplied': {
        const { paused_until, gives_up_at } = event.data
        const until = latest(paused_until, document.paused_until)
        return changed(document, { state: 'paused', paused_until: until, gives_up_at })
      }
      case 'EngagementPaused': {
        const { until } = event.data
        return changed(document, { state: 'paused', paused_until: until, taken_over_until: until })
      }
      case 'EngagementResumed':
        return document.state === 'ended' ? document : derived(unpaused(withoutCall(factsIn(document))))
      default:
        return document
    }
  },
}

type Reported = EventOf<'ActivityRecorded'>['data']

const concernsCall = ({ call_until, activity }: Reported): boolean =>
  call_until !== undefined || endsCall(activity.label)

const begun = ({ data, time }: EventOf<'EngagementStarted'>): FollowUpDocument | undefined => {
  const { account_id, engagement_id: id, contact_id, lead_id, source_id, playbook_id, submitted_at, follow_up } = data
  if (follow_up === undefined) return undefined
  const ids = { account_id, id, contact_id, lead_id, source_id, playbook_id }
  const { playbook_version, first_step_at: next_step_at } = follow_up
  return derived({
    ...ids,
    playbook_version,
    state: 'running',
    reason: null,
    started_at: submitted_at ?? time,
    steps_done: 0,
    steps_skipped: [],
    next_step_at,
    paused_until: null,
    gives_up_at: null,
    ...(follow_up.consent === 'awaited' ? { consent: 'awaited' } : {}),
  })
}
