import type { Position } from '../../../domain/event.js'
import type { AccountId } from '../../../domain/ids.js'
import type { EventStore } from '../../../domain/ports.js'
import { sharedRun } from '../../../domain/shared-run.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { waitingRangeOf } from '../../read-models/contact-shards.js'
import { followUps, type FollowUpDocument } from '../../read-models/follow-ups.js'
import { messages, type MessageDocument } from '../../read-models/messages.js'
import { isEnding, type Lease } from '../../subscriptions/leases.js'

export type Waiting = FollowUpDocument | MessageDocument

/** The collections in which what waits for its account stands. */
export const waitingIn = { steps: collectionOf(followUps), messages: collectionOf(messages) } as const
export const waitingKinds = ['messages', 'steps'] as const

/**
 * What is the same for all shards. Those that are taken over together ask for it together, and share one read, which
 * begins after they asked.
 */
export type SharedReads = {
  /** @throws where the store fails */
  readonly head: () => Promise<Position>
  /** The shards in which anything waits for its account. @throws where a store fails */
  readonly waitingShards: () => Promise<ReadonlySet<string>>
}

export const sharedReads = ({
  store,
  documents,
}: {
  readonly store: Pick<EventStore, 'head'>
  readonly documents: Pick<Documents, 'values'>
}): SharedReads => ({
  head: sharedRun(async () => orThrow(await store.head())),
  waitingShards: sharedRun(async () => {
    const shards = new Set<string>()
    for (const kind of waitingKinds)
      for (const shard of orThrow(await documents.values(waitingIn[kind], 'waiting'))) shards.add(String(shard))
    return shards
  }),
})

/** Those of which something waits, one query each. @throws where a store fails */
export const waitingAccounts = async (
  documents: Pick<Documents, 'find'>,
  lease: Lease,
): Promise<ReadonlySet<AccountId>> => {
  const found = new Set<AccountId>()
  for (const kind of waitingKinds) {
    for (let from = ''; !isEnding(lease);) {
      const first = { index: 'waiting', equals: [lease.name], from, limit: 1 }
      const [entry] = orThrow(await documents.find(waitingIn[kind], first))
      if (entry === undefined) break
      const { account_id } = entry.document as Waiting
      found.add(account_id)
      from = waitingRangeOf(account_id).upTo
    }
  }
  return found
}
