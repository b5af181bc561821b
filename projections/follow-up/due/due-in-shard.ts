import type { AccountId, ContactId, EngagementId, MessageId } from '../../../domain/ids.js'
import type { Clock, MonotonicClock } from '../../../domain/ports.js'
import type { WakeUp } from '../../../domain/wake-up.js'
import type { Documents } from '../../ports.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import type { Lease } from '../../subscriptions/leases.js'
import type { FailingWork } from '../../subscriptions/retries/failing-work.js'

/**
 * What a task is of: an engagement, a requested message, or an erased message of which a provider still has a copy.
 */
export type TaskId = EngagementId | MessageId

/** What a shard's worker knows of what is due. */
export type DueInShard = {
  readonly lease: Lease
  readonly wakeUp: WakeUp
  readonly inFlight: ReadonlyMap<TaskId, Promise<void>>
  /** Of these the checks of consents. */
  readonly checking: Map<TaskId, AccountId>
  /** Of these the copies that a provider is to erase. */
  readonly erasing: Set<TaskId>
  /**
   * Of these the others: two at once to one contact would each take the last message that its state allows in a day.
   */
  readonly writingTo: Map<TaskId, { readonly account_id: AccountId; readonly contact_id: ContactId }>
  /** Of these the steps that were late. */
  readonly late: Set<TaskId>
  /** Must not be begun. */
  readonly setAside: ReadonlyMap<string, unknown>
  /** By the monotonic clock: when the next steps that are late may be begun. */
  latePaceUntil: number
  /** By the same clock: when more may be read to find an account that has room. */
  nextWiderReadAt: number
  /** Late steps that come next, those of the newest leads first, and by the same clock until when. */
  lateAhead: { readonly steps: ReadonlyArray<FollowUpDocument>; readonly until: number }
}

export const isMessageId = (id: string): id is MessageId => id.startsWith('msg_')

export type DuePorts = {
  readonly documents: Pick<Documents, 'find'>
  readonly clock: Clock
  readonly monotonic: MonotonicClock
  readonly failingWork: FailingWork
}
