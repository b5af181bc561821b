import test from 'ava'
import { hash } from 'node:crypto'
import { activityLabels } from '../../../domain/activity.js'
import { breaches } from '../../kit/follow-up-simulation/invariants.js'
import { followUpMonth, type Month } from '../../kit/follow-up-simulation/month.js'

/** So many come in a month; SIMULATED_LEADS=10000 is what the service is built for. */
const leads = Number(process.env['SIMULATED_LEADS'] ?? 400)

const streamsOf = ({ events }: Month): string =>
  events.map(({ position, ...event }) => `${position} ${JSON.stringify(event)}`).join('\n')

const count = ({ events }: Month, type: Month['events'][number]['type']): number =>
  events.filter((event) => event.type === type).length

test('whatever contacts and providers do in a month and wherever the process crashes, every promise of a follow-up holds', async (t) => {
  const month = await followUpMonth(1, leads)
  const broken = breaches(month)
  t.deepEqual(broken.slice(0, 20), [], `${broken.length} promises`)
  const fired = new Set(
    month.events.flatMap((event) => (event.type === 'ActivityRecorded' ? [event.data.activity.label] : [])),
  )
  t.deepEqual(
    activityLabels.filter((label) => !fired.has(label)),
    [],
  )
  const seen = {
    crashes: month.crashes,
    arrivals: month.arrivals.length,
    events: month.events.length,
    postponed: count(month, 'StepPostponed'),
    stepsEnded: count(month, 'StepsEnded'),
    skipped: count(month, 'StepSkipped'),
    failedAttempts: count(month, 'MessageAttemptFailed'),
    optedOut: count(month, 'ContactOptedOut'),
    optedIn: count(month, 'ContactOptedIn'),
  }
  t.log(seen)
  for (const [what, number] of Object.entries(seen)) t.true(number > 5, what)
})

test('the same seed gives the same streams byte for byte, and another seed others', async (t) => {
  const [one, again, other] = await Promise.all([followUpMonth(2, 60), followUpMonth(2, 60), followUpMonth(3, 60)])
  t.is(streamsOf(one), streamsOf(again))
  t.not(streamsOf(one), streamsOf(other))
  t.log(hash('sha256', streamsOf(one)))
})
