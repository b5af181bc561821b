import { aborted } from '../../../domain/abortable.js'
import { roundRobin } from '../../../domain/round-robin.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { DueInShard, DuePorts, TaskId } from './due-in-shard.js'
import { chooseLate, type ChosenLate } from './late-pace.js'
import { newestLeadFirst } from './late-steps.js'
import type { Due } from './queues.js'
import { mostErasing, places, readDue, type DueRead } from './read-due.js'

/** Checks that are in flight in a shard at most, and of one account: whoever is slow with them holds up nobody else. */
const placesForChecks = { most: 16, mostOfAccount: 4 }

/** Begins what is due, as far as there is room. Where nothing is, sleeps until something is, or something wakes it. */
export const beginDue = async (ports: DuePorts, shard: DueInShard, begin: (id: TaskId) => void): Promise<void> => {
  const woken = shard.wakeUp.signal()
  const due = await readDue(ports, shard)
  if (isEnding(shard.lease)) return
  const chosen = chooseDue(shard, due, ports.monotonic.now())
  beginChosen(shard, chosen, begin)
  await sleepUntilNext(ports, due, chosen.late, woken)
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

type Chosen = {
  readonly checks: ReadonlyArray<FollowUpDocument>
  readonly copies: ReadonlyArray<Due>
  /** Requested messages and steps, late ones too: one of each contact. */
  readonly messages: ReadonlyArray<Due>
  readonly late: ChosenLate
}

/** What takes a place, and is to be begun before anything else is read. `now`: by the monotonic clock. */
const chooseDue = (shard: DueInShard, due: DueRead, now: number): Chosen => {
  // One that has to wait for another task of its contact must not take the place of others, which wait for none.
  const busy = new Set([...shard.writingTo.values()].map(({ contact_id }) => contact_id))
  const inFlight = [...due.stepsInFlight, ...due.steps.map(({ account_id }) => account_id)]
  const late = chooseLate(shard, now, due.lateRoom, due.late, { inFlight, places, busy })
  const messages: Array<Due> = []
  for (const one of [...due.requested, ...due.steps, ...late.steps]) {
    if (busy.has(one.contact_id)) continue
    busy.add(one.contact_id)
    messages.push(one)
  }
  return {
    checks: roundRobin(due.checks.toSorted(newestLeadFirst), [...shard.checking.values()], placesForChecks),
    copies: due.copies.slice(0, Math.max(mostErasing - shard.erasing.size, 0)),
    messages,
    late,
  }
}

const beginChosen = (
  shard: DueInShard,
  { checks, copies, messages, late }: Chosen,
  begin: (id: TaskId) => void,
): void => {
  shard.lateAhead = late.ahead
  shard.latePaceUntil = late.paceUntil
  for (const { id, account_id } of checks) {
    shard.checking.set(id, account_id)
    begin(id)
  }
  for (const { id } of copies) {
    shard.erasing.add(id)
    begin(id)
  }
  const areLate = new Set<TaskId>(late.steps.map(({ id }) => id))
  for (const { id, account_id, contact_id } of messages) {
    shard.writingTo.set(id, { account_id, contact_id })
    if (areLate.has(id)) shard.late.add(id)
    begin(id)
  }
}

const sleepUntilNext = async (
  { clock, monotonic }: DuePorts,
  { nextDueAt, widerReadAt }: DueRead,
  late: ChosenLate,
  woken: AbortSignal,
): Promise<void> => {
  const readAgainAt = [widerReadAt, late.readAgainAt].filter((at) => at !== undefined)
  await Promise.race([
    nextDueAt === undefined ? aborted(woken) : clock.sleepUntil(nextDueAt, woken),
    ...(readAgainAt.length === 0
      ? []
      : [monotonic.sleep(Math.max(Math.min(...readAgainAt) - monotonic.now(), 0), woken)]),
  ])
}
