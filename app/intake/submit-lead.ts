import { newAggregate } from '../../domain/aggregate.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import { account } from '../../domain/account.js'
import { decode, optional, refined } from '../../domain/codec.js'
import { contactIdOf, leadIdOf, submissionKeyIdOf, type AccountSecret } from '../../domain/derived-id.js'
import { AccountId, SourceId, type LeadId } from '../../domain/ids.js'
import { lead, type LeadFacts, type LeadState } from '../../domain/lead.js'
import { marketingSource, type MarketingSourceState } from '../../domain/marketing-source.js'
import { playbook } from '../../domain/playbook.js'
import type { Clock, CommandHandler, Ids, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { submissionKey } from '../../domain/submission-key.js'
import { decodeSubmission, originatorsOf, type Submission } from '../../domain/submission.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { Request } from '../http/endpoint.js'
import type { RateLimit } from '../http/rate-limit.js'
import type { Answer, Problem } from '../http/problem.js'

export type IntakePorts = {
  readonly commandHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly commands: ClientCommands
  readonly vault: Vault
  readonly ids: Ids
  readonly clock: Clock
  readonly rateLimit: RateLimit
}

/** A source that takes leads now. */
export type OpenSource = {
  readonly source: Extract<MarketingSourceState, { readonly kind: 'created' }>
  readonly secret: AccountSecret
  readonly requiredFields: ReadonlyArray<string>
}

const noSource: Problem = { kind: 'no-match', message: 'there is no marketing source at this URL' }

/** The post URL itself is the credential (contract 5): it names the account and the source. */
export const openSource =
  ({ currentStates, vault, rateLimit }: IntakePorts) =>
  async (request: Request): Promise<Either<Problem, OpenSource>> => {
    const { account_id: accountId, source_id: sourceId } = request.params
    if (!AccountId.is(accountId) || !SourceId.is(sourceId)) return E.left(noSource)
    const found = await currentStates.get(
      marketingSource,
      sourceId,
      (state) => state.kind === 'created' && !state.suspended,
    )
    if (E.isLeft(found)) return found
    const source = found.right
    if (source.kind !== 'created' || source.accountId !== accountId) return E.left(noSource)
    const owner = await currentStates.get(account, accountId, (state) => state.kind === 'open' && state.enabled)
    if (E.isLeft(owner)) return owner
    if (owner.right.kind !== 'open') return E.left(noSource)
    if (!owner.right.enabled) return E.left({ kind: 'forbidden', message: 'the account is disabled' })
    if (source.suspended) return E.left({ kind: 'forbidden', message: 'the marketing source is suspended' })
    const retryAfter = rateLimit.exceeded(sourceId, source.limitPerMinute)
    if (retryAfter !== undefined) return E.left({ kind: 'too-many-requests', retryAfter })
    const settings = await currentStates.get(playbook, source.playbookId, ({ kind }) => kind !== 'unknown')
    if (E.isLeft(settings)) return settings
    const secret = vault.accountSecret(owner.right.sealedSecret)
    if (E.isLeft(secret) || settings.right.kind === 'unknown') {
      return E.left({ kind: 'corrupt', reason: 'a marketing source lacks its playbook or its account a secret' })
    }
    return E.right({ source, secret: secret.right, requiredFields: settings.right.settings.required_fields })
  }

/** Contract 4.6: a valid submission becomes a lead, once, and is on the disk when this answers 200. */
export const submitLead =
  (ports: IntakePorts) =>
  async (request: Request, open: OpenSource): Promise<Either<Problem, Answer>> => {
    const key = decode(IdempotencyKey, request.header('idempotency-key'))
    if (E.isLeft(key)) return E.left({ kind: 'invalid', messages: [`Idempotency-Key must be ${IdempotencyKey.name}`] })
    const submission = decodeSubmission(open.requiredFields, ports.clock.now(), request.body)
    if (E.isLeft(submission)) return E.left({ kind: 'invalid', messages: submission.left })
    const facts = factsOf(ports.ids, open, submission.right)
    const leadId = await claimed(ports, open, key.right, facts.lead_id)
    if (E.isLeft(leadId)) return leadId
    return submitted(ports, { ...facts, lead_id: leadId.right })
  }

const IdempotencyKey = optional(
  refined(
    'a text of 1 to 255 characters',
    (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 255,
  ),
)

const factsOf = (ids: Ids, { source, secret }: OpenSource, submission: Submission): LeadFacts => {
  const originators = originatorsOf(source, submission.fields)
  const { phone } = submission.details
  const [originator] = originators
  return {
    lead_id: originator === undefined ? `led_${ids.ulid()}` : leadIdOf(secret, source.sourceId, originator.key, phone),
    account_id: source.accountId,
    source_id: source.sourceId,
    source_title: source.title,
    playbook_id: source.playbookId,
    contact_id: contactIdOf(secret, phone),
    engagement_id: `neg_${ids.ulid()}`,
    details: submission.details,
    consent: submission.consent,
    originators,
  }
}

/** The lead that this Idempotency-Key stands for: the one that whoever sent it first was about to submit. */
const claimed = async (
  { commandHandler, ids }: IntakePorts,
  { source, secret }: OpenSource,
  key: string | undefined,
  leadId: LeadId,
): Promise<Either<Problem, LeadId>> => {
  if (key === undefined) return E.right(leadId)
  const submissionKeyId = submissionKeyIdOf(secret, source.sourceId, key)
  const command = { type: 'ClaimSubmissionKey', submissionKeyId, sourceId: source.sourceId, leadId } as const
  const claim = await commandHandler.execute(
    submissionKey,
    submissionKeyId,
    command,
    { actor: 'vendor', eventId: ids.uuid },
    newAggregate(submissionKey),
  )
  if (E.isLeft(claim)) return claim
  return E.right(claim.right.state.kind === 'claimed' ? claim.right.state.leadId : leadId)
}

const submitted = async ({ commands }: IntakePorts, facts: LeadFacts): Promise<Either<Problem, Answer>> => {
  const outcome = await commands.execute(
    lead,
    facts.lead_id,
    { type: 'SubmitLead', facts },
    'vendor',
    newAggregate(lead),
  )
  return E.isLeft(outcome) ? outcome : answerOf(outcome.right.state)
}

/** The body of the 200 (design, section 7). */
const answerOf = (state: LeadState): Either<Problem, Answer> => {
  if (state.kind === 'unknown') return E.left({ kind: 'unexpected' })
  const { leadId, contactId, engagementId } = state
  return E.right({
    status: 200,
    body: { lead_id: leadId, contact_id: contactId, next_engagement_id: engagementId },
  })
}
