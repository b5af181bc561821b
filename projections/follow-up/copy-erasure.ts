import type { Position } from '../../domain/event.js'
import type { MessageId } from '../../domain/ids.js'
import { message, type MessageCommand } from '../../domain/message.js'
import { nextCopyErasureAt } from '../../domain/retry-schedule.js'
import type { Lease } from '../subscriptions/leases.js'
import { loadOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { recordedPosition } from '../subscriptions/retries/retried-command.js'
import type { SendingPorts } from './sending/attempt.js'

/**
 * Asks the provider to erase what it has of a message that was erased here: resolves with the position of its record,
 * or with undefined where there was nothing to erase.
 * @throws FailedForGood, and where a store fails
 */
export const eraseCopies = async (ports: SendingPorts, lease: Lease, id: MessageId): Promise<Position | undefined> => {
  const { commandHandler, messenger, clock, logger } = ports
  const { state } = await loadOrThrow(commandHandler, message, id)
  if (state.kind !== 'erased' || state.copies.length === 0) return undefined
  const outcomes = await Promise.all(state.copies.map(messenger.eraseCopy))
  const kept = outcomes.find((outcome) => outcome.kind === 'kept')
  const attempt = state.attempts + 1
  const until = nextCopyErasureAt(attempt, clock.now())
  const command: MessageCommand =
    kept === undefined
      ? { type: 'RecordErasedCopies' }
      : { type: 'RecordKeptCopies', attempt, until, reason: kept.reason }
  if (kept !== undefined && until === undefined)
    logger.error({ message: id, reason: kept.reason }, 'the provider keeps a message that was erased')
  return recordedPosition(ports, { actor: 'follow-up', lease }, message, id, command)
}
