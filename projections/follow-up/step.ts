import { newAggregate } from '../../domain/aggregate.js'
import { account, type AccountState } from '../../domain/account.js'
import { contact, type ContactState } from '../../domain/contact.js'
import { streamOf } from '../../domain/decider.js'
import { engagement, type EngagementCommand } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { AccountId, ContactId, EngagementId } from '../../domain/ids.js'
import { later, monthOf, type Instant } from '../../domain/instant.js'
import { message } from '../../domain/message.js'
import { nextStepOf, type NextStep } from '../../domain/next-step.js'
import type { PlaybookSettings } from '../../domain/playbook.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, unreachable, type Either } from '../../domain/prelude.js'
import type { SenderState } from '../../domain/sender.js'
import { afterStep, fieldsOf, hoursFor } from '../../domain/step-times.js'
import { orThrow } from '../../domain/store-failed.js'
import { linkCodeFrom } from '../../domain/tracked-link.js'
import type { Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { messages, type MessageDocument } from '../read-models/messages.js'
import type { Lease } from '../subscriptions/leases.js'
import { executeWithRetry, FailedForGood, readOrThrow } from '../subscriptions/retried-command.js'
import { usageIn } from '../read-models/usage.js'
import { checkConsent, type ConsentPorts } from './consent-check.js'
import type { PlaybookVersions } from './playbook-versions.js'
import { mayProbe, reachSegmentLimit } from './sending/hold.js'
import { sendMessage, settleMessage, type Sending, type SendingPorts } from './sending/try.js'
import type { SendingRates } from './sending/rate.js'

export type StepPorts = SendingPorts &
  ConsentPorts & {
    readonly documents: Documents
    readonly playbookAt: PlaybookVersions
    /** Where people reach the service, known once it listens. */
    readonly siteUrl: Promise<string>
    /** As it is now. */
    readonly currentAccount: (id: AccountId) => Promise<Either<StoreFailure, AccountState>>
    /** One that is held is read anew. */
    readonly currentSender: (id: AccountId) => Promise<Either<StoreFailure, SenderState>>
    readonly rates: SendingRates
  }

const day = 24 * 60 * 60_000

/**
 * Does what an engagement's turn asks for, at most one step of it: resolves with the position of its last record, or with undefined where
 * there was nothing to record, as where another process was first.
 * @throws FailedForGood, and where a store fails
 */
export const takeTurn = async (ports: StepPorts, lease: Lease, id: EngagementId): Promise<Position | undefined> => {
  const { commandHandler, clock, playbookAt } = ports
  const { state } = readOrThrow(streamOf(engagement, id), await commandHandler.load(engagement, id))
  if (state.kind !== 'started' || state.ended || state.followUp === undefined) return undefined
  const { contact_id, playbook_id, account_id } = state.attribution
  const { playbookVersion, messageId } = state.followUp
  const settings = await playbookAt(playbook_id, playbookVersion)
  const owner = orThrow(await ports.currentAccount(account_id))
  if (settings === undefined || owner.kind !== 'open') {
    const missing = settings === undefined ? `playbook-${playbook_id}` : streamOf(account, account_id)
    throw new FailedForGood(missing, { kind: 'corrupt', reason: 'an engagement lacks its playbook or its account' })
  }
  const person = readOrThrow(streamOf(contact, contact_id), await commandHandler.load(contact, contact_id)).state
  const lastMessage =
    messageId && readOrThrow(streamOf(message, messageId), await commandHandler.load(message, messageId)).state
  const now = clock.now()
  const sentInLastDay = await sentSince(ports.documents, contact_id, later(now, -day))
  const { held } = orThrow(await ports.currentSender(account_id))
  const next = nextStepOf({
    engagement: state,
    lastMessage,
    settings,
    contact: person,
    hasNewer: await hasNewer(ports, person, id),
    account: { title: owner.title, enabled: owner.enabled },
    sentInLastDay,
    heldUntil: held?.until,
    segmentsLeft: await segmentsLeft(ports.documents, owner, now),
    links: { site: await ports.siteUrl, code: linkCodeFrom(ports.ids.unguessable()) },
    now,
  })
  if (next.kind === 'check-consent') return checkConsent(ports, lease, state.attribution, next.check)
  const to = person.kind === 'known' ? person.details.phone : undefined
  if (next.kind === 'send' || next.kind === 'settle') {
    if (to === undefined) return undefined
    const ids = { message_id: next.messageId, account_id, contact_id, engagement_id: id, step: next.step }
    const sending: Sending = { facts: ids, to, lease, after: afterStepOf(settings, person, next.step, id) }
    if (next.kind === 'settle') return settleMessage(ports, sending)
    const { step: number, attempt, messageId: begun } = next
    const place = ports.rates.placeOf(owner.sender, id, now)
    if (place !== undefined)
      return execute(ports, lease, id, { type: 'PostponeStep', step: number, until: place, reason: rateReason })
    const isProbe = held !== undefined
    if (isProbe && !(await mayProbe(ports, lease, account_id))) return undefined
    // The last moment at which it may turn out that nothing may be sent any more.
    const begin = { type: 'BeginStep', step: number, attempt, messageId: begun, at: clock.now() } as const
    const decided = await executeWithRetry(ports, recording(lease), engagement, id, begin)
    if (E.isLeft(decided)) return undefined
    const assumed = lastMessage === undefined || messageId !== begun ? newAggregate(message) : undefined
    const { text, links, validUntil } = next
    const from = owner.sender?.from
    return sendMessage(ports, { ...sending, text, links, validUntil, from, isProbe }, assumed)
  }
  if (next.kind === 'postpone' && next.limitedSince !== undefined && owner.segmentsPerMonth !== null) {
    const limit = { accountId: account_id, month: monthOf(now), segmentsPerMonth: owner.segmentsPerMonth }
    await reachSegmentLimit(ports, lease, limit)
  }
  const command = commandFor(next, now)
  return command === undefined ? undefined : execute(ports, lease, id, command)
}

const execute = async (
  ports: StepPorts,
  lease: Lease,
  id: EngagementId,
  command: EngagementCommand,
): Promise<Position | undefined> => {
  const done = await executeWithRetry(ports, recording(lease), engagement, id, command)
  return E.isLeft(done) ? undefined : done.right.events.at(-1)?.position
}

const rateReason = "the sender's rate"

const segmentsLeft = async (
  documents: Pick<Documents, 'count'>,
  { accountId, segmentsPerMonth }: Extract<AccountState, { readonly kind: 'open' }>,
  now: Instant,
): Promise<number | undefined> => {
  if (segmentsPerMonth === null) return undefined
  const { segments } = orThrow(await usageIn(documents, accountId, monthOf(now)))
  return segmentsPerMonth - segments
}

/** One that was filtered, such as for its consent, sends nothing that could stand for the older one's messages. */
const hasNewer = async ({ commandHandler }: StepPorts, person: ContactState, id: EngagementId): Promise<boolean> => {
  if (person.kind !== 'known' || person.newest === undefined || person.newest.engagementId === id) return false
  const { newest, unconverted } = person
  for (const newer of new Set([newest.engagementId, ...unconverted.slice(unconverted.indexOf(id) + 1)])) {
    const { state } = readOrThrow(streamOf(engagement, newer), await commandHandler.load(engagement, newer))
    if (state.kind === 'started' && !state.labels.has('filtered')) return true
  }
  return false
}

const afterStepOf = (settings: PlaybookSettings, person: ContactState, step: number, key: EngagementId) => {
  const hours = hoursFor(settings, person.kind === 'known' ? fieldsOf(person.details) : {})
  return (now: Instant) => afterStep(settings, hours, step, now, key)
}

const recording = (lease: Lease) => ({ actor: 'follow-up', lease })

const commandFor = (
  next: Exclude<NextStep, { readonly kind: 'send' | 'settle' | 'check-consent' }>,
  at: Instant,
): EngagementCommand | undefined => {
  switch (next.kind) {
    case 'nothing':
      return undefined
    case 'postpone':
      return {
        ...{ type: 'PostponeStep', step: next.step, until: next.until, reason: next.reason },
        ...(next.limitedSince === undefined ? {} : { limitedSince: next.limitedSince }),
      }
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

/** No state allows more messages in a day than these. */
const mostInDay = 20

export const sentSince = async (
  { find }: Pick<Documents, 'find'>,
  contactId: ContactId,
  from: Instant,
): Promise<ReadonlyArray<Instant>> => {
  const query = { index: 'outbound', equals: [contactId], from, descending: true, limit: mostInDay }
  const found = orThrow(await find(collectionOf(messages), query)).map(({ document }) => document as MessageDocument)
  return found
    .filter(({ state }) => state !== 'failed' && state !== 'waiting')
    .flatMap(({ tried_at }) => tried_at ?? [])
    .toReversed()
}
