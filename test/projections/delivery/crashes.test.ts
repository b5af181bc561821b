import test from 'ava'
import { at } from '../../kit/domain/samples.js'
import {
  addWebhook,
  recordActivity,
  resendOne,
  startResend,
  submitLead,
  turnOn,
} from '../../kit/simulation/commands.js'
import { untilAllIsOver } from '../../kit/simulation/eventful-days.js'
import { breaches } from '../../kit/simulation/invariants.js'
import { openSimulation, type Command, type History, type Simulation } from '../../kit/simulation/simulation.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'

type EventType = History['events'][number]['type']

const count = ({ events }: History, type: EventType): number => events.filter((event) => event.type === type).length

const longAway = 4 * 24 * 3_600_000

/**
 * A webhook that is off, and three deliveries that are held for it. Where the process was away when last retries were
 * due, it began three of them together, which failed, and the receiver never recovers. Otherwise one failed, and the
 * receiver is well from then on.
 */
const openWithOff = async (isAway: boolean, step: number): Promise<Simulation> => {
  const simulation = openSimulation({
    seed: 1,
    answer: (_webhook, nth) => ({ status: isAway || nth <= mostAttempts ? 503 : 200, takes: 100 }),
    slowest: 0,
    unsaved: 1n,
    longestAway: 5_000,
  })
  await simulation.ask(addWebhook(1))
  await simulation.ask(submitLead(1, 1))
  if (isAway) {
    await simulation.ask(recordActivity(1, 'interested'), recordActivity(1, 'phone_call_started'))
    // Seventeen retries take 68 hours, and the last one comes 23 later.
    await simulation.advance(70 * 3_600_000)
    simulation.crash(longAway)
  }
  await simulation.advance(untilAllIsOver)
  await simulation.ask(submitLead(2, 2))
  await simulation.advance(1_000)
  await simulation.ask(recordActivity(1, 'interested'), recordActivity(2, 'interested'))
  await simulation.advance(1_000)
  simulation.crashAt(step)
  return simulation
}

const deliveriesIn = (simulation: Simulation) =>
  simulation.log().flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.delivery_id] : []))

type Scenario = {
  readonly title: string
  readonly isAway: boolean
  readonly command: Command
  /** How many events of each type there are at the end, wherever the process crashes. */
  readonly leaves: Readonly<Partial<Record<EventType, number>>>
}

const scenarios: ReadonlyArray<Scenario> = [
  {
    title: 'a webhook is turned on to catch up',
    isAway: false,
    command: turnOn(1, true),
    leaves: { WebhookTurnedOff: 1, WebhookTurnedOn: 1, DeliveryHeld: 3, DeliveryResumed: 4, DeliverySucceeded: 4 },
  },
  {
    title: 'a webhook is turned on to skip',
    isAway: false,
    command: turnOn(1, false),
    leaves: { WebhookTurnedOff: 1, WebhookTurnedOn: 1, DeliveryHeld: 3, DeliverySkipped: 4, DeliverySucceeded: 0 },
  },
  {
    title: 'all that failed is resent',
    isAway: true,
    command: startResend(1, 1, at()),
    leaves: {
      DeliveryAbandoned: 3,
      DeliveryResendRequested: 3,
      DeliveryResent: 3,
      ResendCompleted: 1,
      DeliveryHeld: 3,
    },
  },
]

const crashedAt = async ({ isAway, command }: Scenario, step: number): Promise<History> => {
  const simulation = await openWithOff(isAway, step)
  await simulation.ask(command)
  await simulation.advance(untilAllIsOver)
  return simulation.history()
}

for (const scenario of scenarios) {
  test(`${scenario.title}: a crash at any durable step changes nothing`, async (t) => {
    const before = scenario.isAway ? 1 : 0
    for (let step = 1; ; step += 1) {
      const history = await crashedAt(scenario, step)
      t.deepEqual(breaches(history), [], `step ${step}`)
      for (const [type, times] of Object.entries(scenario.leaves)) {
        t.is(count(history, type as EventType), times, `${type} at step ${step}`)
      }
      if (history.crashes.length > before) continue
      t.log(`${step - 1} steps`)
      t.true(step > 10)
      break
    }
  })
}

test('one delivery is resent: a crash at any durable step loses nothing', async (t) => {
  for (let step = 1; ; step += 1) {
    const simulation = await openWithOff(false, step)
    const [first] = deliveriesIn(simulation)
    if (first === undefined) return t.fail()
    await simulation.ask(resendOne(first))
    await simulation.advance(untilAllIsOver)
    const history = await simulation.history()
    t.deepEqual(breaches(history), [], `step ${step}`)
    // Whoever got no answer asks once more, though the first request may have been recorded.
    const asked = count(history, 'DeliveryResendRequested')
    t.true(asked === 1 || (asked === 2 && history.crashes.length === 1))
    t.is(count(history, 'DeliveryResent'), asked)
    t.is(count(history, 'WebhookTurnedOn'), 0)
    if (history.crashes.length > 0) continue
    t.log(`${step - 1} steps`)
    t.true(step > 5)
    break
  }
})
