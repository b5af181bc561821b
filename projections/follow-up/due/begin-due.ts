import { aborted } from '../../../domain/abortable.js'
import { fairTurns, withinAccounts } from '../../../domain/fair-turns.js'
import type { AccountId } from '../../../domain/ids.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import { isEnding } from '../../subscriptions/leases.js'
import { isMessageId, type DueInShard, type DuePorts, type TurnId } from './due-in-shard.js'
import { firstSteps, lateSteps, newestLeadFirst } from './late-steps.js'
import { answerQueue, copyQueue, isDueAt, stepQueue, waiting, waitingOfAll, type Due } from './queues.js'

/** Steps that are under way in a shard at most, and as many answers; and of one account: those that hang leave places for others. */
const places = { most: 16, mostOfAccount: 12 }

/**
 * Messages of a kind that are read where all that were read first are of accounts without room, and how often at most, in milliseconds:
 * between them may stand those of an account that has room.
 */
const farRead = 500
const farLookInterval = 1_000

/** Copies that a provider erases at once for a shard, at most. */
const mostErasing = 2

/** Checks that are under way in a shard at most, and of one account: whoever is slow with them holds up nobody else. */
const placesForChecks = { most: 16, mostOfAccount: 4 }

/** Checks that are read at a look: of the first of them there may be too many of one account. */
const checksRead = 100

/**
 * What is late goes out at a pace that providers and carriers bear. So many late turns are under way in a
 * shard at most, since each takes its share of the processor from first messages.
 */
const lateAtOnce = 4
const lateInterval = 125

/** Begins what is due, as far as there is room. Where nothing is, sleeps until something is, or something wakes it. */
export const beginDue = async (ports: DuePorts, shard: DueInShard, begin: (id: TurnId) => void): Promise<void> => {
  const { clock, time, failingWork } = ports
  const { lease } = shard
  const woken = shard.wakeUp.signal()
  const now = clock.now()
  const isPaced = time.now() < shard.latePaceUntil
  const roomForLate = isPaced ? 0 : lateAtOnce - shard.late.size
  const looking = firstSteps(ports, shard, now, places.most)
  const [answers, { steps: first }, late, unverified, copies] = await Promise.all([
    waitingOfAll<Due>(ports, shard, answerQueue(lease), { now, most: places.most }),
    looking,
    roomForLate > 0 ? looking.then(({ areOthersLate }) => lateSteps(ports, shard, now, areOthersLate)) : [],
    waitingOfAll<FollowUpDocument>(ports, shard, stepQueue(lease, 'consent'), { now, most: checksRead }),
    waiting<Due>(ports, shard, copyQueue(lease), { now, most: mostErasing }),
  ])
  failingWork.ended(lease.name)
  const isDueNow = isDueAt(now)
  const stepsOf = accountsWrittenFor(shard, 'steps')
  const isFarLookDue = time.now() >= shard.nextFarLookAt
  /** Those for which there is room. */
  const beginnable = async <Document extends Due>(
    found: ReadonlyArray<Document>,
    accountsUnderWay: ReadonlyArray<AccountId>,
    readFar: () => Promise<ReadonlyArray<Document>>,
  ): Promise<ReadonlyArray<Document>> => {
    const begun = fairTurns(found.filter(isDueNow), accountsUnderWay, places)
    const isCrowded = begun.length === 0 && accountsUnderWay.length < places.most && found.some(isDueNow)
    if (!isCrowded || !isFarLookDue) return begun
    shard.nextFarLookAt = time.now() + farLookInterval
    return fairTurns((await readFar()).filter(isDueNow), accountsUnderWay, places)
  }
  const dueAnswers = await beginnable(answers, accountsWrittenFor(shard, 'answers'), () =>
    waitingOfAll<Due>(ports, shard, answerQueue(lease), { now, most: farRead }),
  )
  const dueFirst = await beginnable(first, stepsOf, async () => (await firstSteps(ports, shard, now, farRead)).steps)
  // From here on nothing is read: what takes a place is begun.
  if (isEnding(lease)) return
  const dueChecks = unverified.filter(isDueNow).toSorted(newestLeadFirst)
  const checks = fairTurns(dueChecks, [...shard.checking.values()], placesForChecks)
  for (const { id, account_id } of checks) shard.checking.set(id, account_id)
  // One that has to wait for another turn of its contact must not take the place of others, which wait for none.
  const busy = new Set([...shard.writingTo.values()].map(({ contact_id }) => contact_id))
  const dueLate = late.filter((step) => isDueNow(step) && !busy.has(step.contact_id)).toSorted(newestLeadFirst)
  const firstOf = dueFirst.map(({ account_id }) => account_id)
  const room = Math.min(places.most - stepsOf.length - dueFirst.length, roomForLate)
  const ofAccounts = withinAccounts(dueLate, [...stepsOf, ...firstOf], places.mostOfAccount)
  const begunLate = ofAccounts.slice(0, Math.max(room, 0))
  for (const { id } of checks) begin(id)
  const dueCopies = copies.filter(isDueNow).slice(0, Math.max(mostErasing - shard.erasing.size, 0))
  for (const { id } of dueCopies) {
    shard.erasing.add(id)
    begin(id)
  }
  for (const { id, account_id, contact_id } of [...dueAnswers, ...dueFirst, ...begunLate]) {
    if (busy.has(contact_id)) continue
    busy.add(contact_id)
    shard.writingTo.set(id, { account_id, contact_id })
    if (begunLate.some((step) => step.id === id)) shard.late.add(id)
    begin(id)
  }
  if (begunLate.length > 0) shard.latePaceUntil = time.now() + lateInterval
  shard.lateAhead = { ...shard.lateAhead, steps: shard.lateAhead.steps.filter((step) => !begunLate.includes(step)) }
  const wakes = [
    aborted(woken),
    ...[answers, first, late, unverified, copies]
      .flatMap((queue: ReadonlyArray<Due>) => queue.find((one) => !isDueNow(one))?.next_at ?? [])
      .map((at) => clock.sleepUntil(at, woken)),
    // Also where the pace has come to its end meanwhile: what is late was not looked at.
    ...(isPaced || begunLate.length > 0 ? [time.sleep(Math.max(shard.latePaceUntil - time.now(), 0), woken)] : []),
  ]
  await Promise.race(wakes)
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

/** Whose messages are under way in a shard, each as often as it has one. */
const accountsWrittenFor = ({ writingTo }: DueInShard, kind: 'steps' | 'answers'): ReadonlyArray<AccountId> =>
  [...writingTo].filter(([id]) => isMessageId(id) === (kind === 'answers')).map(([, { account_id }]) => account_id)
