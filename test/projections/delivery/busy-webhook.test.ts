import assert from 'node:assert/strict'
import test from 'ava'
import fc from 'fast-check'
import { instantOf, millisecondsOf } from '../../../domain/instant.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { at } from '../../kit/domain/samples.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { addWebhook, recordActivity, resendOne, submitLead } from '../../kit/simulation/commands.js'
import { outcomesIn } from '../../kit/simulation/delivery-record.js'
import { openSimulation, type History } from '../../kit/simulation/simulation.js'

const minute = 60_000

/**
 * A receiver that never answers, and activities that never end. Each request takes so long that four days have room for
 * some hundred: what counts is how many more activities come than requests can be made.
 */
type Busy = {
  readonly seed: number
  /** Until a request is given up, in minutes. */
  readonly takes: number
  /** Activities in the time that a request takes. */
  readonly activities: number
  /** How many of them come together. */
  readonly burst: number
  /** Somebody has others than the oldest delivery resent, too, again and again. */
  readonly resends: boolean
}

const busy: fc.Arbitrary<Busy> = fc.record({
  seed: fc.nat(1_000),
  takes: fc.integer({ min: 30, max: 60 }),
  activities: fc.double({ min: 0.2, max: 2, noNaN: true }),
  burst: fc.integer({ min: 1, max: 12 }),
  resends: fc.boolean(),
})

/** Activities come until the webhook is turned off, for eight days at most. */
const busyDays = async ({ seed, takes, activities, burst, resends }: Busy): Promise<History> => {
  const simulation = openSimulation({
    seed,
    answer: () => ({ status: null, takes: takes * minute }),
    slowest: 0,
    unsaved: 500n,
    longestAway: 1,
  })
  await simulation.ask(addWebhook(1))
  await simulation.ask(submitLead(1, 1))
  const pause = (takes * minute * burst) / activities
  for (let hours = 0; hours < 192; hours += 6) {
    for (let passed = 0; passed < 6 * 60 * minute; passed += pause) {
      await simulation.advance(pause)
      await simulation.ask(...Array.from({ length: burst }, () => recordActivity(1, 'interested')))
    }
    const log = simulation.log()
    if (log.some(({ type }) => type === 'WebhookTurnedOff')) break
    const made = log.flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.delivery_id] : []))
    if (resends) await simulation.ask(...made.slice(1).slice(-8).map(resendOne))
  }
  return simulation.history()
}

const first = ({ events }: History) => events.find((event) => event.type === 'DeliveryDue')?.data.delivery_id

/** For each retry of a delivery how many milliseconds after its time it came. */
const lateness = ({ events, arrivals }: History, id: string | undefined): ReadonlyArray<number> => {
  const due = events.flatMap((event) =>
    event.type === 'DeliveryAttemptFailed' && event.stream === `delivery-${id}` ? [event.data.next_attempt_at] : [],
  )
  const retries = arrivals.filter((arrival) => arrival.id === id).slice(1)
  return retries.map(({ time }, nth) => time - millisecondsOf(due[nth] ?? at()))
}

/**
 * Posts that were no retries although the one before them was none either, and a retry was due: as long as the webhook
 * is on.
 */
const passedOver = ({ events, arrivals }: History): ReadonlyArray<string> => {
  const due = new Map<string, number>()
  const failures = events.flatMap((event) => (event.type === 'DeliveryAttemptFailed' ? [event] : []))
  const off = events.find(({ type }) => type === 'WebhookTurnedOff')
  const whileOn = arrivals.filter(({ head }) => off === undefined || head < off.position)
  let recorded = 0
  let wasRetry = true
  return whileOn.flatMap(({ id, time, head }) => {
    for (let next = failures[recorded]; next !== undefined && next.position <= head; next = failures[recorded]) {
      due.set(next.stream, millisecondsOf(next.data.next_attempt_at))
      recorded += 1
    }
    const stream = `delivery-${id}`
    const end = events.find((event) => event.stream === stream && event.position > head && outcomesIn(event).length > 0)
    const isRetry = due.has(stream) && end?.type !== 'DeliveryResent'
    if (isRetry) due.delete(stream)
    const waiting = [...due].filter(([one, since]) => one !== stream && since < time).length
    const isBreach = !isRetry && !wasRetry && waiting > 0
    wasRetry = isRetry
    return isBreach ? [`${id} was posted at ${instantOf(time)} while ${waiting} retries were due`] : []
  })
}

test('however busy a webhook is whose receiver is silent, its oldest delivery fails on schedule and it is turned off', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(busy, async (scene) => {
      const history = await busyDays(scene)
      const oldest = first(history)
      const off = history.events.flatMap((event) => (event.type === 'WebhookTurnedOff' ? [event.data.delivery_id] : []))
      assert.deepEqual(off, [oldest])
      assert.equal(history.arrivals.filter(({ id }) => id === oldest).length, mostAttempts)
      // The request that is open when it becomes due, and one that is no retry.
      const late = Math.max(...lateness(history, oldest))
      assert.ok(late <= 2 * scene.takes * minute, `${late / minute} minutes late`)
      assert.deepEqual(passedOver(history), [])
    }),
    {
      numRuns: 5,
      // Requests of three quarters of an hour are under way when the webhook is turned off.
      examples: [[{ seed: 0, takes: 48, activities: 0.3092783505158694, burst: 10, resends: true }]],
    },
  )
})
