import { engagement } from '../../../domain/engagement.js'
import type { Position } from '../../../domain/event.js'
import { message } from '../../../domain/message.js'
import { postpone } from '../../../domain/postponement.js'
import type { Clock } from '../../../domain/ports.js'
import type { Lease } from '../../subscriptions/leases.js'
import { loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { recordedPosition, type RetryPorts } from '../../subscriptions/retries/retried-command.js'
import { isMessageId, type TaskId } from './due-in-shard.js'

/**
 * Puts off a task that fails on a stream which many tasks need, such as that of its account: so none of them is in the
 * way of others, and all go on by themselves once it can be read again. Undefined where nothing is due that could be
 * put off.
 * @throws FailedForGood, and where a store fails
 */
export const postponeTask = async (
  ports: RetryPorts & { readonly clock: Clock },
  lease: Lease,
  id: TaskId,
): Promise<Position | undefined> => {
  const { until, reason } = postpone.whileUnreadable(ports.clock.now())
  const recording = { actor: 'follow-up', lease }
  if (isMessageId(id)) {
    const command = { type: 'PostponeMessage', until, reason } as const
    return recordedPosition(ports, recording, message, id, command)
  }
  const { state } = await loadOrThrow(ports.commandHandler, engagement, id)
  if (state.kind !== 'started' || state.followUp === undefined) return undefined
  const command = { type: 'PostponeStep', step: state.followUp.begun, until, reason } as const
  return recordedPosition(ports, recording, engagement, id, command)
}
