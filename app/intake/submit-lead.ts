import { newAggregate } from '../../domain/aggregate.js'
import { consentOnArrival } from '../../domain/consent.js'
import { bytesOf, largestDetails } from '../../domain/contact-details.js'
import { erasureIdOf, submissionKeyIdOf } from '../../domain/derived-id.js'
import type { EngagementId, ErasureId, LeadId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { lead, type LeadCommand, type LeadEvent, type LeadFacts, type LeadState } from '../../domain/lead.js'
import type { Clock, CommandHandler, Ids, StoreFailure } from '../../domain/ports.js'
import { E, flow, type Either, type TaskEither } from '../../domain/prelude.js'
import { followUpOf } from '../../domain/step-times.js'
import { submissionKey } from '../../domain/submission-key.js'
import { afterErasure, decodeSubmission, leadFactsOf, type Submission } from '../../domain/submission.js'
import type { SenderOptOuts } from '../../projections/follow-up/sending/sender-opt-outs.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { currentContact } from '../commands/states/current-contact.js'
import { loadState } from '../commands/states/current-states.js'
import type { Endpoint, Request } from '../http/endpoint.js'
import { idempotencyKeyIn } from '../http/idempotency-key.js'
import type { Problem } from '../http/problem.js'
import { answer, bind, execute } from '../http/steps.js'
import type { AcceptingSource } from './accepting-source.js'

type SubmitPorts = {
  readonly commandHandler: Pick<CommandHandler, 'execute' | 'load'>
  readonly clientCommands: ClientCommands
  readonly ids: Ids
  readonly clock: Clock
  /** Whether a service verifies consents before anything is sent. */
  readonly verifiesConsents: boolean
  readonly senderOptOuts: SenderOptOuts
}

/** Contract 4.6: a valid submission becomes a lead, once, and is on the disk when this answers 200. */
export const submitLead = (ports: SubmitPorts): Endpoint<AcceptingSource>['handle'] =>
  flow(
    bind('key', ({ request }) => idempotencyKeyIn(request)),
    bind('submission', ({ request, caller }) => submissionIn(request, caller, ports.clock.now())),
    bind('facts', ({ caller, key, submission }) => factsOf(ports, caller, key, submission)),
    execute(({ caller, key, facts }) => submit(ports, caller, key, facts)),
    bind('ids', ({ result }) => idsOf(result.state)),
    answer(200, ({ ids }) => ids),
  )

const submissionIn = ({ body }: Request, { playbook }: AcceptingSource, now: Instant): Either<Problem, Submission> => {
  const submission = decodeSubmission(playbook.settings.required_fields, now, body)
  if (E.isLeft(submission)) return E.left({ kind: 'invalid', messages: submission.left })
  const isTooLarge = bytesOf(submission.right.fields) > largestDetails.bytes
  return isTooLarge ? E.left({ kind: 'fields-too-large' }) : submission
}

/** What the lead holds; it is the lead of whoever used the same idempotency key first. */
const factsOf =
  (
    ports: SubmitPorts,
    accepting: AcceptingSource,
    key: string | undefined,
    submission: Submission,
  ): TaskEither<Problem, LeadFacts> =>
  async () => {
    const { ids, commandHandler } = ports
    const current = await currentContact(commandHandler, accepting, submission.details.phone)()
    if (E.isLeft(current)) return current
    const engagementId = `neg_${ids.ulid()}` as const
    const follows = followUpFacts(ports, accepting, submission, engagementId)
    const isOptedOut = await ports.senderOptOuts.includes(accepting.sender, submission.details.phone)
    if (E.isLeft(isOptedOut)) return isOptedOut
    const optedOutBefore = current.right.optedOutBefore || isOptedOut.right
    const facts = {
      ...leadFactsOf(accepting, submission, `led_${ids.ulid()}`, engagementId, { ...current.right, optedOutBefore }),
      ...follows,
    }
    if (key === undefined) return E.right(facts)
    const newest = await withoutErased(ports, accepting, facts)
    if (E.isLeft(newest)) return newest
    const leadId = await leadIdOfKey(ports, accepting, key, newest.right.lead_id)
    return E.isLeft(leadId) ? leadId : E.right({ ...facts, lead_id: leadId.right })
  }

/**
 * The facts with the id of the lead that its originator stands for now: a key that is new must not stand for one that
 * was erased.
 */
const withoutErased = async (
  { commandHandler, ids }: SubmitPorts,
  accepting: AcceptingSource,
  facts: LeadFacts,
): Promise<Either<StoreFailure, LeadFacts>> => {
  if (facts.originators.length === 0) return E.right(facts)
  for (let wanted = facts; ;) {
    const loaded = await loadState(commandHandler, lead, wanted.lead_id)
    if (E.isLeft(loaded)) return loaded
    const next = nextOf(loaded.right, wanted, accepting, ids)
    if (next === undefined) return E.right(wanted)
    wanted = next
  }
}

/** Where the playbook sends nothing the consent counts all the same, since a member may write. */
const followUpFacts = (
  { clock, verifiesConsents }: SubmitPorts,
  { playbook, consentHosts }: AcceptingSource,
  { details, consent: given }: Submission,
  engagementId: EngagementId,
): Pick<LeadFacts, 'follow_up' | 'awaits_consent'> => {
  const followUp = followUpOf(playbook, details, clock.now(), engagementId)
  const consent = consentOnArrival(given, consentHosts, verifiesConsents)
  if (consent === 'refused')
    return { follow_up: { playbook_version: playbook.version, first_step_at: null, ...followUp, consent } }
  if (followUp === undefined) return consent === 'awaited' ? { awaits_consent: true } : {}
  return { follow_up: consent === undefined ? followUp : { ...followUp, consent } }
}

/** An originator whose lead was erased makes a new one; an idempotency key stands for its lead for ever. */
const submit = async (
  { clientCommands, ids }: SubmitPorts,
  accepting: AcceptingSource,
  key: string | undefined,
  facts: LeadFacts,
): ReturnType<typeof clientCommands.execute<LeadState, LeadCommand, LeadEvent, never>> => {
  for (let wanted = facts; ;) {
    const command = { type: 'SubmitLead', facts: wanted } as const
    const done = await clientCommands.execute(lead, wanted.lead_id, command, 'vendor', newAggregate(lead))
    if (E.isLeft(done) || key !== undefined) return done
    const next = nextOf(done.right.state, wanted, accepting, ids)
    if (next === undefined) return done
    wanted = next
  }
}

/** The facts of the lead that comes back where this one was erased; undefined where it stays. */
const nextOf = (state: LeadState, wanted: LeadFacts, accepting: AcceptingSource, ids: Ids): LeadFacts | undefined => {
  const erasureId = erasureOf(state, wanted)
  return erasureId === undefined ? undefined : afterErasure(wanted, accepting, `led_${ids.ulid()}`, erasureId)
}

/** The erasure that takes a lead which was submitted before; undefined where it stays. */
const erasureOf = (state: LeadState, { contact_id }: LeadFacts): ErasureId | undefined => {
  if (state.kind === 'erased') return state.erasureId
  if (state.kind === 'unknown') return undefined
  // The number has another contact by now: that of the lead is being erased.
  return state.ids.contact_id === contact_id ? undefined : erasureIdOf(state.ids.contact_id)
}

/** The lead that this Idempotency-Key stands for: that of the first submission with it. */
const leadIdOfKey = async (
  { commandHandler, ids }: SubmitPorts,
  { source: { sourceId }, secret }: AcceptingSource,
  key: string,
  leadId: LeadId,
): Promise<Either<Problem, LeadId>> => {
  const submissionKeyId = submissionKeyIdOf(secret, sourceId, key)
  // Not by `clientCommands`: nothing reacts to a key, and no read model shows it, so there is nothing to wait for.
  const keyHolder = await commandHandler.execute(
    submissionKey,
    submissionKeyId,
    { type: 'ClaimSubmissionKey', submissionKeyId, sourceId, leadId },
    { actor: 'vendor', eventId: ids.uuid },
    newAggregate(submissionKey),
  )
  if (E.isLeft(keyHolder)) return keyHolder
  return E.right(keyHolder.right.state.kind === 'claimed' ? keyHolder.right.state.leadId : leadId)
}

/** The ids that the vendor is told: those of the first lead where it was submitted before. */
const idsOf = (state: LeadState): Either<Problem, Readonly<Record<string, string>>> => {
  if (state.kind === 'unknown') return E.left({ kind: 'unexpected' })
  const { lead_id, contact_id, engagement_id: next_engagement_id } = state.ids
  return E.right({ lead_id, contact_id, next_engagement_id })
}
