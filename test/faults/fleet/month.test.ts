import test from 'ava'
import { breaches } from '../../kit/follow-up-simulation/invariants.js'
import { fleetStage } from '../../kit/follow-up-simulation/fleet-stage.js'
import { followUpMonth } from '../../kit/follow-up-simulation/month.js'
import { onServers } from '../../kit/load/fleet.js'
import { seedOf } from '../../kit/load/random.js'

/** So many come in a month; SIMULATED_LEADS asks for others. */
const leads = Number(process.env['SIMULATED_LEADS'] ?? 24)

onServers('the simulated month of processes that share the work', (mongoUrl) => {
  test('every promise of a follow-up holds for a month on servers, while processes come and go', async (t) => {
    t.timeout(600_000)
    const month = await followUpMonth(seedOf(t), leads, fleetStage(t, mongoUrl))
    const broken = breaches(month)
    t.deepEqual(broken.slice(0, 20), [], `${broken.length} promises`)
    const count = (type: string): number => month.events.filter((event) => event.type === type).length
    t.is(count('EngagementStarted'), count('LeadSubmitted'))
    t.true(count('LeadSubmitted') > leads / 2)
    const senders = new Set(month.arrivals.map(({ by }) => by)).size
    const seen = { crashes: month.crashes, arrivals: month.arrivals.length, events: month.events.length, senders }
    t.log(seen)
    for (const [what, number] of Object.entries(seen)) t.true(number > 5, what)
  })
})
