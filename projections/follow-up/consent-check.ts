import { engagement, type Attribution, type EngagementCommand } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { EngagementId, LeadId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { lead } from '../../domain/lead.js'
import type { Clock, EventStore } from '../../domain/ports.js'
import { unreachable } from '../../domain/prelude.js'
import { streamOf } from '../../domain/stream-name.js'
import { triggers } from '../../domain/trigger.js'
import type { Lease } from '../subscriptions/leases.js'
import { loadOrThrow, readOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { lastPositionOf, recordWithRetry, type RetryPorts } from '../subscriptions/retries/retried-command.js'
import type { Consent, ConsentAnswer, ConsentVerifier } from './consent-verifier.js'

export type ConsentPorts = RetryPorts & {
  readonly store: Pick<EventStore, 'read'>
  readonly consentVerifier: ConsentVerifier
  /**
   * Those of which it is being checked: what a member wrote has it checked too, and who verifies may answer only once
   * for a token.
   */
  readonly consentsUnderCheck: Set<EngagementId>
  readonly clock: Clock
}

/**
 * Asks once whether the consent of a lead is genuine, and records the answer: from then on nobody asks again. Where the
 * process ends between the two, the next one asks anew. Nothing is asked of a lead that was erased, nor where another
 * task asks, or has asked meanwhile.
 * @throws FailedForGood, and where the store fails
 */
export const checkConsent = async (
  ports: ConsentPorts,
  lease: Lease,
  attribution: Attribution,
  check: number,
): Promise<Position | undefined> => {
  const { consentsUnderCheck: underCheck } = ports
  const { engagement_id } = attribution
  if (underCheck.has(engagement_id)) return undefined
  underCheck.add(engagement_id)
  try {
    const { state } = await loadOrThrow(ports.commandHandler, engagement, engagement_id)
    const awaited = state.kind === 'started' && !state.ended ? state.awaitedConsent : undefined
    return awaited?.failedChecks === check - 1 ? await ask(ports, lease, attribution, check) : undefined
  } finally {
    underCheck.delete(engagement_id)
  }
}

const ask = async (
  ports: ConsentPorts,
  lease: Lease,
  { engagement_id, lead_id }: Attribution,
  check: number,
): Promise<Position | undefined> => {
  const consent = await consentOf(ports, lead_id)
  if (consent === undefined) return undefined
  const answer = await ports.consentVerifier.verify(consent)
  if (answer.kind === 'failed')
    ports.logger.warn({ engagement: engagement_id, check, reason: answer.reason }, 'a consent could not be verified')
  const command = commandFor(answer, check, ports.clock.now())
  return lastPositionOf(await recordWithRetry(ports, { actor: 'follow-up', lease }, engagement, engagement_id, command))
}

const consentOf = async ({ store }: ConsentPorts, id: LeadId): Promise<Consent | undefined> => {
  const stream = streamOf(lead, id)
  const { events } = readOrThrow(stream, await store.read(stream))
  const [submitted, ...others] = events
  if (submitted?.type !== 'LeadSubmitted' || others.some(({ type }) => type === 'LeadErased')) return undefined
  const { tcpa_opt_in_token: token, tcpa_opt_in_url: url } = submitted.data.consent
  const { phone, email } = submitted.data.details
  return { token, url, phone, email, submittedAt: submitted.time }
}

const commandFor = (answer: ConsentAnswer, check: number, at: Instant): EngagementCommand => {
  switch (answer.kind) {
    case 'verified':
      return { type: 'VerifyConsent' }
    case 'refused': {
      const { reason } = answer
      const why = reason === undefined ? {} : { note: `${triggers['consent-refused'].note}: ${reason}` }
      return { type: 'GiveUp', trigger: 'consent-refused', ...why, at }
    }
    case 'failed':
      return { type: 'RecordFailedConsentCheck', check, reason: answer.reason, at }
    default:
      return unreachable(answer)
  }
}
