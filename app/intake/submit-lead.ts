import { newAggregate } from '../../domain/aggregate.js'
import { consentOnArrival } from '../../domain/consent.js'
import { bytesOf, largestDetails } from '../../domain/contact-details.js'
import { erasureIdOf, submissionKeyIdOf } from '../../domain/derived-id.js'
import type { EngagementId, ErasureId, LeadId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { lead, type LeadCommand, type LeadEvent, type LeadFacts, type LeadState } from '../../domain/lead.js'
import { phoneFromForm, phoneFromText } from '../../domain/phone.js'
import type { Clock, CommandHandler, Ids, StoreFailure } from '../../domain/ports.js'
import { E, flow, type Either } from '../../domain/prelude.js'
import { followUpOf } from '../../domain/step-times.js'
import { submissionKey } from '../../domain/submission-key.js'
import {
  afterErasure,
  decodeSubmission,
  leadFactsOf,
  type CurrentContact,
  type Submission,
} from '../../domain/submission.js'
import type { SenderOptOuts } from '../../projections/from-streams/sender-opt-outs.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { currentContact } from '../commands/states/current-contact.js'
import { loadState } from '../commands/states/current-states.js'
import { isForm } from '../http/request/media-type.js'
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
    bind('contact', ({ caller, submission }) => currentContact(ports.commandHandler, caller, submission.details.phone)),
    bind('optedOut', ({ caller, submission }) => ports.senderOptOuts.includes(caller.sender, submission.details.phone)),
    bind('facts', ({ caller, submission, contact, optedOut }) =>
      E.right(factsOf(ports, caller, submission, { ...contact, optedOutBefore: contact.optedOutBefore || optedOut })),
    ),
    bind('leadId', ({ caller, key, facts }) =>
      key === undefined ? E.right(facts.lead_id) : claimKey(ports, caller, key, facts),
    ),
    execute(({ caller, key, facts, leadId }) => submit(ports, caller, key, { ...facts, lead_id: leadId })),
    bind('ids', ({ result }) => idsOf(result.state)),
    answer(200, ({ ids }) => ids),
  )

const submissionIn = (request: Request, { playbook }: AcceptingSource, now: Instant): Either<Problem, Submission> => {
  const phoneFrom = isForm(request) ? phoneFromForm : phoneFromText
  const submission = decodeSubmission(playbook.settings.required_fields, now, request.body, phoneFrom)
  if (E.isLeft(submission)) return E.left({ kind: 'invalid', messages: submission.left })
  const isTooLarge = bytesOf(submission.right.fields) > largestDetails.bytes
  return isTooLarge ? E.left({ kind: 'fields-too-large' }) : submission
}

const factsOf = (
  ports: SubmitPorts,
  accepting: AcceptingSource,
  submission: Submission,
  contact: CurrentContact,
): LeadFacts => {
  const engagementId = `neg_${ports.ids.ulid()}` as const
  return {
    ...leadFactsOf(accepting, submission, `led_${ports.ids.ulid()}`, engagementId, contact),
    ...followUpFacts(ports, accepting, submission, engagementId),
  }
}

/** Claims the Idempotency-Key, and gives the lead that it stands for: that of the first submission with it. */
const claimKey = async (
  ports: SubmitPorts,
  accepting: AcceptingSource,
  key: string,
  facts: LeadFacts,
): Promise<Either<Problem, LeadId>> => {
  const { source, secret } = accepting
  const newest = await withoutErased(ports, accepting, facts)
  if (E.isLeft(newest)) return newest
  const submissionKeyId = submissionKeyIdOf(secret, source.sourceId, key)
  const leadId = newest.right.lead_id
  // Not by `clientCommands`: nothing reacts to a key, and no read model shows it, so there is nothing to wait for.
  const keyHolder = await ports.commandHandler.execute(
    submissionKey,
    submissionKeyId,
    { type: 'ClaimSubmissionKey', submissionKeyId, sourceId: source.sourceId, leadId },
    { actor: 'vendor', eventId: ports.ids.uuid },
    newAggregate(submissionKey),
  )
  if (E.isLeft(keyHolder)) return keyHolder
  return E.right(keyHolder.right.state.kind === 'claimed' ? keyHolder.right.state.leadId : leadId)
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

/** The ids that the vendor is told: those of the first lead where it was submitted before. */
const idsOf = (state: LeadState): Either<Problem, Readonly<Record<string, string>>> => {
  if (state.kind === 'unknown') return E.left({ kind: 'unexpected' })
  const { lead_id, contact_id, engagement_id: next_engagement_id } = state.ids
  return E.right({ lead_id, contact_id, next_engagement_id })
}
