import test from 'ava'
import { hash } from 'node:crypto'
import { webhookId } from '../../kit/domain/samples.js'
import { addWebhook, recordActivity, submitLead } from '../../kit/simulation/commands.js'
import { eventfulDays, untilAllIsOver } from '../../kit/simulation/eventful-days.js'
import { attemptsIn, breaches } from '../../kit/simulation/invariants.js'
import { openSimulation, type History, type Scene } from '../../kit/simulation/simulation.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'

const count = ({ events }: History, type: History['events'][number]['type']): number =>
  events.filter((event) => event.type === type).length

test('the same seed gives the same history bit for bit, alone and beside others', async (t) => {
  const seeds = [1, 4]
  const linesOf = async (seed: number): Promise<string> => (await eventfulDays(seed, true)).trace().join('\n')
  const beside = await Promise.all(seeds.map(linesOf))
  for (const [index, seed] of seeds.entries()) {
    const alone = await linesOf(seed)
    t.log(`seed ${seed}: ${hash('sha256', alone)} over ${alone.split('\n').length} lines`)
    t.is(beside[index], alone)
  }
  t.is(new Set(beside).size, seeds.length)
})

test('whatever receivers do and wherever the process crashes, every promise of a delivery holds', async (t) => {
  const seen = {
    crashes: 0,
    repeats: 0,
    turnedOff: 0,
    held: 0,
    resumed: 0,
    skipped: 0,
    resent: 0,
    completed: 0,
    open: 0,
  }
  for (let seed = 13; seed <= 24; seed += 1) {
    const history = await eventfulDays(seed, seed % 4 > 0)
    t.deepEqual(breaches(history), [], `seed ${seed}`)
    seen.crashes += history.crashes.length
    seen.repeats += history.arrivals.length - attemptsIn(history)
    seen.turnedOff += count(history, 'WebhookTurnedOff')
    seen.held += count(history, 'DeliveryHeld')
    seen.resumed += count(history, 'DeliveryResumed')
    seen.skipped += count(history, 'DeliverySkipped')
    seen.resent += count(history, 'DeliveryResent')
    seen.completed += count(history, 'ResendCompleted')
    seen.open = Math.max(seen.open, ...history.arrivals.map(({ open }) => open))
  }
  t.log(seen)
  t.true(seen.crashes > 25 && seen.repeats > 5 && seen.turnedOff > 10 && seen.held > 50)
  t.true(seen.resumed > 25 && seen.skipped > 10 && seen.resent > 15 && seen.completed > 10)
  t.is(seen.open, 8)
})

/** How fast the stores are, how often followers save their checkpoints, and whether the documents outlive a crash. */
type Stores = Pick<Scene, 'unsaved' | 'slowest' | 'losesDocuments'>

/** One lead for two webhooks, one of which fails twice; the process crashes at its n-th durable step. */
const crashedAt = async (step: number, stores: Stores): Promise<History> => {
  const simulation = openSimulation({
    ...stores,
    seed: 1_000 + step,
    answer: (webhook, nth) => ({ status: webhook === webhookId(1) && nth <= 2 ? 503 : 200, takes: 100 }),
    longestAway: 5_000,
  })
  simulation.crashAt(step)
  await simulation.ask(addWebhook(1), addWebhook(2))
  await simulation.ask(submitLead(1, 1))
  await simulation.advance(untilAllIsOver)
  return simulation.history()
}

const cases: ReadonlyArray<Stores> = [
  { unsaved: 1n, slowest: 0 },
  { unsaved: 500n, slowest: 0 },
  { unsaved: 1n, slowest: 40 },
  { unsaved: 500n, slowest: 40 },
  { unsaved: 1n, slowest: 40, losesDocuments: true },
]

for (const stores of cases) {
  const { unsaved, slowest, losesDocuments } = stores
  const documents = losesDocuments === true ? ', and all documents gone' : ''
  const title = `a crash at any durable step loses nothing: at most ${unsaved} unsaved, ${slowest} ms a step${documents}`
  test(title, async (t) => {
    const repeats = new Set<number>()
    for (let step = 1; ; step += 1) {
      const history = await crashedAt(step, stores)
      const where = `step ${step}`
      t.deepEqual(breaches(history), [], where)
      t.is(count(history, 'ActivityRecorded'), 1, where)
      t.is(count(history, 'DeliverySucceeded'), 2, where)
      repeats.add(history.arrivals.length - attemptsIn(history))
      if (history.crashes.length > 0) continue
      t.log(`${step - 1} steps`)
      break
    }
    t.true(repeats.has(0) && repeats.has(1))
  })
}

test('a delivery that fails for four days is tried as often as its schedule says, and then its webhook is turned off', async (t) => {
  const begun = performance.now()
  const takes = 1_500
  const simulation = openSimulation({
    seed: 1,
    answer: () => ({ status: 500, takes }),
    slowest: 0,
    unsaved: 500n,
    longestAway: 1,
  })
  await simulation.ask(addWebhook(1))
  await simulation.ask(submitLead(1, 1))
  await simulation.advance(untilAllIsOver)
  await simulation.ask(recordActivity(1, 'interested'))
  await simulation.advance(untilAllIsOver)
  const history = await simulation.history()
  t.deepEqual(breaches(history), [])
  t.is(history.arrivals.length, mostAttempts)
  t.is(count(history, 'WebhookTurnedOff'), 1)
  t.is(count(history, 'DeliveryHeld'), 1)
  const times = history.arrivals.map(({ time }) => time)
  for (const [index, time] of times.slice(1).entries()) {
    // Before retry n: (n-1)^4 + 15 seconds, and a jitter of 0 to 10·n.
    const waited = (time - (times[index] ?? 0) - takes) / 1_000
    const least = index ** 4 + 15
    t.true(waited >= least && waited <= least + 10 * (index + 1), `retry ${index + 1} came after ${waited} s`)
  }
  const hours = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 3_600_000
  t.true(hours > 91 && hours < 91.6, `${hours} hours`)
  t.log(`${hours.toFixed(2)} hours in ${(performance.now() - begun).toFixed()} ms`)
})
