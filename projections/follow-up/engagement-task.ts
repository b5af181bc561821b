import type { OpenAccount } from '../../domain/account.js'
import type { CausingEvent } from '../../domain/aggregate.js'
import { engagement, type EngagementCommand, type StartedEngagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { EngagementId } from '../../domain/ids.js'
import { monthOf, type Instant } from '../../domain/instant.js'
import { message } from '../../domain/message.js'
import { segmentsOf } from '../../domain/message-segments.js'
import { fieldsOf } from '../../domain/message-template.js'
import { nextActionOf, type NextAction, type Situation } from '../../domain/next-action.js'
import type { PlaybookSettings } from '../../domain/playbook-settings.js'
import { postpone } from '../../domain/postponement.js'
import { unreachable } from '../../domain/prelude.js'
import { afterStep, hoursFor } from '../../domain/step-times.js'
import { orThrow } from '../../domain/store-failed.js'
import { linkCodeFrom } from '../../domain/tracked-link.js'
import type { PlaybookVersions } from '../from-streams/playbook-versions.js'
import type { Documents } from '../ports.js'
import { usageIn } from '../read-models/messages.js'
import type { Lease } from '../subscriptions/leases.js'
import { loadOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { lastPositionOf, recordedPosition, recordWithRetry } from '../subscriptions/retries/retried-command.js'
import { checkConsent, type ConsentPorts } from './consent-check.js'
import { closeLastMessage, withdrawMessage } from './last-messages.js'
import { settingsOrThrow } from './engagement-settings.js'
import { isOutdated } from './sending/outdated-postponement.js'
import { mayAttempt } from './sending/sender-hold.js'
import { partiesOf, type Parties, type PartiesPorts } from './sending/parties.js'
import type { SendingRates } from './sending/rate.js'
import { reachSegmentLimit } from './sending/segment-limit.js'
import type { SegmentReservations } from './sending/segment-reservations.js'
import { learnOptOut } from './sending/learnt-opt-out.js'
import { sendMessage, settleMessage, type Deciding, type Sending, type SendingPorts } from './sending/attempt.js'

export type TaskPorts = SendingPorts &
  ConsentPorts &
  PartiesPorts & {
    readonly documents: Pick<Documents, 'find' | 'count'>
    readonly playbookAt: PlaybookVersions
    /** Where people reach the service, known once it listens. */
    readonly siteUrl: Promise<string>
    readonly rates: SendingRates
    readonly reservations: SegmentReservations
  }

/** In milliseconds: what was decided so lately is not decided again once it is recorded that its message is begun. */
const decisionHoldsFor = 1_000

/**
 * Carries out the next action of an engagement, or where it has ended the closing of its last message. Resolves with
 * the position of what was recorded last, or with undefined where nothing was, such as where another process was first.
 * @throws FailedForGood, and where a store fails
 */
export const runEngagementTask = async (
  ports: TaskPorts,
  lease: Lease,
  id: EngagementId,
): Promise<Position | undefined> => {
  const { commandHandler, clock, monotonic } = ports
  const madeAt = monotonic.now()
  const { state, last } = await loadOrThrow(commandHandler, engagement, id)
  if (state.kind !== 'started' || state.followUp === undefined) return undefined
  if (state.ended) return closeLastMessage(ports, lease, state)
  const { attribution, followUp } = state
  const settings = await settingsOrThrow(ports, state)
  const parties = await partiesOf(ports, attribution)
  if (parties.isOptOutNew) return learnOptOut(ports, lease, attribution)
  const lastMessage = followUp.messageId && (await loadOrThrow(commandHandler, message, followUp.messageId)).state
  const now = clock.now()
  const newer = await newerEngagement(ports, parties, id)
  const links = { site: await ports.siteUrl, code: linkCodeFrom(ports.ids.unguessable()) }
  const known = { engagement: state, lastMessage, settings, newer, links, now, ...parties }
  const next = await decideOn(ports, id, parties.account, known)
  if (next.kind === 'check-consent') return checkConsent(ports, lease, attribution, next.check)
  if (next.kind === 'send' || next.kind === 'settle') {
    const { account_id, contact_id } = attribution
    const facts = { message_id: next.messageId, account_id, contact_id, engagement_id: id, step: next.step }
    if (parties.to === undefined) return undefined
    const after = afterStepOf(settings, parties, next.step, id)
    const sending: Sending = { facts, to: parties.to, optOutReport: parties.optOutReport, lease, after }
    if (next.kind === 'settle') return settleMessage(ports, sending)
    const isNew = followUp.messageId !== next.messageId || lastMessage?.kind === 'unknown'
    // Its engagement has recorded that it is begun: unless the store was away since, nothing has changed.
    const isStillDecided = async (): Promise<boolean> =>
      monotonic.now() - madeAt <= decisionHoldsFor || (await wouldSend(ports, known, state))
    return sendStep(ports, parties, { isStillDecided, ...sending }, next, isNew ? last : undefined)
  }
  if (next.kind === 'postpone') return postponeStep(ports, lease, id, parties.account, next, now)
  if (next.kind === 'end-steps' && lastMessage?.kind === 'waiting')
    await withdrawMessage(ports, lease, lastMessage.facts.message_id, 'the contact has a newer lead')
  const command = commandFor(next, now)
  return command === undefined ? undefined : record(ports, lease, id, command)
}

type OfKind<Kind extends NextAction['kind']> = Extract<NextAction, { readonly kind: Kind }>

/** Whether the step that was just begun would be sent now, where it had not been. */
const wouldSend = async (
  ports: TaskPorts,
  known: Known,
  { attribution, followUp }: StartedEngagement,
): Promise<boolean> => {
  const { engagement_id: id } = attribution
  const { state: current } = await loadOrThrow(ports.commandHandler, engagement, id)
  if (current.kind !== 'started') return false
  const parties = await partiesOf(ports, attribution)
  const newer = await newerEngagement(ports, parties, id)
  // The counts of the last day and the month include this step by now, and a held sender its probe: the earlier values
  // count.
  const { sentInLastDay, heldUntil } = known
  const changed = { ...parties, newer, engagement: { ...current, followUp }, now: ports.clock.now() }
  return nextActionOf({ ...known, ...changed, sentInLastDay, heldUntil, segmentsLeft: undefined }).kind === 'send'
}

/** `beginsAfter`: the last event of the engagement, where nothing was recorded of the message yet. */
const sendStep = async (
  ports: TaskPorts,
  { account, heldUntil }: Parties,
  sending: Sending & Deciding,
  { step, attempt, messageId, text, links, validUntil }: OfKind<'send'>,
  beginsAfter: CausingEvent | undefined,
): Promise<Position | undefined> => {
  const { clock, rates } = ports
  const { lease, facts } = sending
  const { account_id, engagement_id: id } = facts
  const place = rates.nextSendTime(account.sender, id, clock.now())
  if (place !== undefined) return record(ports, lease, id, postponing(step, postpone.forRate(place)))
  const isProbe = heldUntil !== undefined
  if (!(await mayAttempt(ports, lease, account_id, isProbe))) return undefined
  // The last moment at which it may turn out that nothing may be sent any more.
  const begin = { type: 'BeginStep', step, attempt, messageId, at: clock.now() } as const
  const begun = await recordWithRetry(ports, recording(lease), engagement, id, begin)
  if (begun === undefined) return undefined
  // Somebody may have been told meanwhile that the account is disabled: then nothing is sent, and the next task decides
  // anew.
  const owner = orThrow(await ports.currentAccount(account_id))
  if (owner.kind !== 'open' || !owner.enabled) return lastPositionOf(begun)
  const from = account.sender?.from
  const beginsBy = beginsAfter && (begun.events.at(-1) ?? beginsAfter)
  return sendMessage(ports, { ...sending, text, links, validUntil, from, isProbe }, beginsBy)
}

const record = (ports: TaskPorts, lease: Lease, id: EngagementId, command: EngagementCommand) =>
  recordedPosition(ports, recording(lease), engagement, id, command)

const recording = (lease: Lease) => ({ actor: 'follow-up', lease })

type Known = Omit<Situation, 'segmentsLeft'>

/** Where the account has a limit, no other step is decided on the segments that this one takes. */
const decideOn = async (
  { documents, reservations }: Pick<TaskPorts, 'documents' | 'reservations'>,
  id: EngagementId,
  { accountId, segmentsPerMonth }: OpenAccount,
  known: Known,
): Promise<NextAction> => {
  if (segmentsPerMonth === null) return nextActionOf({ segmentsLeft: undefined, ...known })
  const month = monthOf(known.now)
  const count = async (): Promise<number> => orThrow(await usageIn(documents, accountId, month)).segments
  return reservations.decide({ id, accountId, month, segmentsPerMonth }, count, (left) => {
    const result = nextActionOf({ segmentsLeft: left, ...known })
    return { result, segments: result.kind === 'send' ? segmentsOf(result.text).segments : 0 }
  })
}

const postponeStep = async (
  ports: TaskPorts,
  lease: Lease,
  id: EngagementId,
  account: OpenAccount,
  next: OfKind<'postpone'>,
  now: Instant,
): Promise<Position | undefined> => {
  const { accountId, segmentsPerMonth } = account
  if (next.limitedSince !== undefined && segmentsPerMonth !== null)
    await reachSegmentLimit(ports, lease, { accountId, month: monthOf(now), segmentsPerMonth })
  const position = await record(ports, lease, id, postponing(next.step, next))
  if (!(await isOutdated(ports, next, account))) return position
  const command = postponing(next.step, postpone.noLonger(ports.clock.now()))
  return (await record(ports, lease, id, { ...command, insteadOf: next.until })) ?? position
}

/**
 * A newer engagement that was filtered, such as for its consent, sends nothing, so it replaces no messages of this one.
 */
const newerEngagement = async (
  { commandHandler }: TaskPorts,
  { contact: person }: Parties,
  id: EngagementId,
): Promise<Situation['newer']> => {
  if (person.kind !== 'known' || person.newest === undefined || person.newest.engagementId === id) return undefined
  let awaits: Situation['newer']
  const { newest, unconverted } = person
  for (const newer of new Set([newest.engagementId, ...unconverted.slice(unconverted.indexOf(id) + 1)])) {
    const { state } = await loadOrThrow(commandHandler, engagement, newer)
    if (state.kind === 'started' && state.labels.has('filtered')) continue
    // Where its playbook has no steps it may be that nobody ever asks for its consent.
    if (state.kind === 'started' && (state.followUp === undefined || state.awaitedConsent === undefined))
      return 'writes'
    // One that has not begun is about to: a process that takes over begins with what the one before left undone.
    awaits = state.kind === 'unknown' ? 'awaits-beginning' : (awaits ?? 'awaits-consent')
  }
  return awaits
}

const afterStepOf = (settings: PlaybookSettings, { contact: person }: Parties, step: number, key: EngagementId) => {
  const hours = hoursFor(settings, person.kind === 'known' ? fieldsOf(person.details) : {})
  return (now: Instant) => afterStep(settings, hours, step, now, key)
}

const postponing = (
  step: number,
  { until, reason, limitedSince }: Omit<OfKind<'postpone'>, 'step'>,
): Extract<EngagementCommand, { readonly type: 'PostponeStep' }> => ({
  type: 'PostponeStep',
  step,
  until,
  reason,
  ...(limitedSince === undefined ? {} : { limitedSince }),
})

const commandFor = (
  next: Exclude<NextAction, { readonly kind: 'send' | 'settle' | 'check-consent' | 'postpone' }>,
  at: Instant,
): EngagementCommand | undefined => {
  switch (next.kind) {
    case 'nothing':
      return undefined
    case 'skip':
      return { type: 'SkipStep', step: next.step, reason: next.reason, after: next.after }
    case 'end-steps':
      return { type: 'EndSteps', givesUpAt: next.givesUpAt }
    case 'end-silence':
      return { type: 'EndSilence', at, givesUpAt: next.givesUpAt }
    case 'filter':
      return { type: 'GiveUp', trigger: next.trigger, at }
    default:
      return unreachable(next)
  }
}
