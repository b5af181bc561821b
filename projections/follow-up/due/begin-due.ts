import { aborted } from '../../../domain/abortable.js'
import { roundRobin } from '../../../domain/round-robin.js'
import type { AccountId } from '../../../domain/ids.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isEnding } from '../../subscriptions/leases.js'
import { isMessageId, type DueInShard, type DuePorts, type TaskId } from './due-in-shard.js'
import { taskFinder } from './task-finder.js'
import { firstSteps, lateSteps, newestLeadFirst, nextLate } from './late-steps.js'
import { lateRoomIn, takeLate } from './late-pace.js'
import { copyQueue, isDueAt, requestedQueue, stepQueue, waiting, waitingOfAll, type Due } from './queues.js'

/** Limits on steps, and on requested messages: in a shard and for one account, so that one that hangs leaves places. */
const places = { most: 16, mostOfAccount: 12 }

/** Copies that a provider erases at once for a shard, at most. */
const mostErasing = 2

/** Checks that are under way in a shard at most, and of one account: whoever is slow with them holds up nobody else. */
const placesForChecks = { most: 16, mostOfAccount: 4 }

/** Checks that are read at once: of the first of them there may be too many of one account. */
const checksRead = 100

/** Begins what is due, as far as there is room. Where nothing is, sleeps until something is, or something wakes it. */
export const beginDue = async (ports: DuePorts, shard: DueInShard, begin: (id: TaskId) => void): Promise<void> => {
  const { clock, time, failingWork } = ports
  const { lease } = shard
  const woken = shard.wakeUp.signal()
  const now = clock.now()
  const lateRoom = lateRoomIn(shard, time)
  const looking = firstSteps(ports, shard, now, places.most)
  const readLate = async (): Promise<ReadonlyArray<FollowUpDocument>> => {
    if (lateRoom.steps > 0) return lateSteps(ports, shard, now, (await looking).firstLate !== undefined)
    const isKnown = !lateRoom.isPaced || shard.lateAhead.steps.length > 0
    return isKnown ? [] : nextLate(ports, shard, (await looking).firstLate)
  }
  const [requested, { steps: first }, late, unverified, copies] = await Promise.all([
    waitingOfAll<Due>(ports, shard, requestedQueue(lease), { now, most: places.most }),
    looking,
    readLate(),
    waitingOfAll<FollowUpDocument>(ports, shard, stepQueue(lease, 'consent'), { now, most: checksRead }),
    waiting<Due>(ports, shard, copyQueue(lease), { now, most: mostErasing }),
  ])
  failingWork.ended(lease.name)
  const isDueNow = isDueAt(now)
  const stepsOf = accountsWrittenFor(shard, 'steps')
  const find = taskFinder(shard, time, isDueNow, places)
  const ofRequested = await find(accountsWrittenFor(shard, 'requested'), requested, (most) =>
    waitingOfAll<Due>(ports, shard, requestedQueue(lease), { now, most }),
  )
  const ofSteps = await find(stepsOf, first, async (most) => (await firstSteps(ports, shard, now, most)).steps)
  // From here on nothing is read: what takes a place is begun.
  if (isEnding(lease)) return
  const dueChecks = unverified.filter(isDueNow).toSorted(newestLeadFirst)
  const checks = roundRobin(dueChecks, [...shard.checking.values()], placesForChecks)
  for (const { id, account_id } of checks) shard.checking.set(id, account_id)
  // One that has to wait for another task of its contact must not take the place of others, which wait for none.
  const busy = new Set([...shard.writingTo.values()].map(({ contact_id }) => contact_id))
  const underWay = [...stepsOf, ...ofSteps.tasks.map(({ account_id }) => account_id)]
  const ofLate = takeLate(shard, time, lateRoom, late.filter(isDueNow), { underWay, places, busy })
  for (const { id } of checks) begin(id)
  const dueCopies = copies.filter(isDueNow).slice(0, Math.max(mostErasing - shard.erasing.size, 0))
  for (const { id } of dueCopies) {
    shard.erasing.add(id)
    begin(id)
  }
  for (const { id, account_id, contact_id } of [...ofRequested.tasks, ...ofSteps.tasks, ...ofLate.begun]) {
    if (busy.has(contact_id)) continue
    busy.add(contact_id)
    shard.writingTo.set(id, { account_id, contact_id })
    if (ofLate.begun.some((step) => step.id === id)) shard.late.add(id)
    begin(id)
  }
  const widerReadAt = ofRequested.needsWiderRead || ofSteps.needsWiderRead ? shard.nextWiderReadAt : undefined
  const nextDue = [requested, first, late, unverified, copies]
    .flatMap((queue: ReadonlyArray<Due>) => queue.find((one) => !isDueNow(one))?.next_at ?? [])
    .toSorted()[0]
  const readAgainAt = [widerReadAt, ofLate.readAgainAt].filter((at) => at !== undefined)
  await Promise.race([
    nextDue === undefined ? aborted(woken) : clock.sleepUntil(nextDue, woken),
    ...(readAgainAt.length === 0 ? [] : [time.sleep(Math.max(Math.min(...readAgainAt) - time.now(), 0), woken)]),
  ])
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

/** Whose messages are under way in a shard, each as often as it has one. */
const accountsWrittenFor = ({ writingTo }: DueInShard, kind: 'steps' | 'requested'): ReadonlyArray<AccountId> =>
  [...writingTo].filter(([id]) => isMessageId(id) === (kind === 'requested')).map(([, { account_id }]) => account_id)
