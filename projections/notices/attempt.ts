import { account, type OpenAccount } from '../../domain/account.js'
import type { Position } from '../../domain/event.js'
import type { NoticeId } from '../../domain/ids.js'
import { monthOf } from '../../domain/instant.js'
import { notice, type MessagesNotice, type NoticeCommand } from '../../domain/notice.js'
import type { Clock, EventStore } from '../../domain/ports.js'
import { nextMailAttemptAt } from '../../domain/retry-schedule.js'
import { sendingHold } from '../../domain/sending-hold.js'
import type { Documents } from '../ports.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { loadOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { recordWithRetry, type RetryPorts } from '../subscriptions/retries/retried-command.js'
import { messagesEmail } from './messages-email.js'
import type { MailTransport } from './mail-transport.js'
import { webhookContext } from './webhook-email-context.js'
import { webhookEmail } from './webhook-email.js'

export type AttemptPorts = RetryPorts & {
  readonly store: EventStore
  readonly documents: Documents
  readonly mailTransport: MailTransport
  readonly clock: Clock
}

/**
 * Mails a notice once and records how that ended: resolves with the position of the record, or with undefined where
 * there was nothing to record. At least once: after a crash between the two it is mailed again, under the same id.
 * @throws FailedForGood, and where a store fails
 */
export const attemptNotice = async (
  ports: AttemptPorts,
  { lease, siteUrl }: { readonly lease: Lease; readonly siteUrl: string },
  id: NoticeId,
): Promise<Position | undefined> => {
  const { commandHandler, mailTransport, clock } = ports
  const { state } = await loadOrThrow(commandHandler, notice, id)
  // The read model may not show yet what another process did before this one took over.
  if (state.kind !== 'due' || state.dueAt > clock.now()) return undefined
  const { facts, attempts } = state
  const { account_id } = facts
  const owner = (await loadOrThrow(commandHandler, account, account_id)).state
  const member = owner.kind === 'open' ? owner.members.get(facts.member_id) : undefined
  if (owner.kind !== 'open' || member === undefined) return record(ports, lease, id, { type: 'AbandonNotice' })
  const email =
    'about' in facts
      ? messagesEmail(facts, { siteUrl, isOver: await isOver(ports, facts, owner) })
      : webhookEmail(facts, { siteUrl, ...(await webhookContext(ports, facts)) })
  // The lease may have been lost while the streams were read, and then another process mails.
  if (isEnding(lease)) return undefined
  const outcome = await mailTransport.send({ id, at: facts.due_at, to: member.email, ...email })
  const attempt = attempts + 1
  const nextAttemptAt = nextMailAttemptAt(attempt, clock.now())
  return record(ports, lease, id, { type: 'RecordAttempt', attempt, outcome, nextAttemptAt })
}

const isOver = async (
  { commandHandler, clock }: AttemptPorts,
  facts: MessagesNotice,
  owner: OpenAccount,
): Promise<boolean> => {
  if (facts.about === 'segment-limit')
    return facts.month !== monthOf(clock.now()) || facts.segments_per_month !== owner.segmentsPerMonth
  const { state } = await loadOrThrow(commandHandler, sendingHold, facts.account_id)
  return state.held === undefined
}

const record = async (
  ports: AttemptPorts,
  lease: Lease,
  id: NoticeId,
  command: NoticeCommand,
): Promise<Position | undefined> => {
  const done = await recordWithRetry(ports, { actor: 'notice', lease }, notice, id, command)
  const last = done?.events.at(-1)
  if (last?.type === 'NoticeAbandoned') ports.logger.warn({ notice: id, ...last.data }, 'a notice is given up')
  return last?.position
}
