import { shown, type Row } from './row.js'
import { measureSpeedToLead } from './speed-to-lead.js'
import { measureSteps } from './steps.js'

/**
 * Steps a second of those that are late, which the worker holds back to no less: eight each quarter of a second in 16
 * shards.
 */
const pace = 512

/**
 * The rows of the table: speed to lead, alone and beside steps that come due in the same minute, and steps worked off.
 */
export const followUpRows = async (
  { quick, rounds }: { readonly quick: boolean; readonly rounds: number },
  say: (text: string) => void,
): Promise<ReadonlyArray<Row>> => {
  const load = { perSecond: 200, seconds: quick ? 5 : 60 }
  const steps = quick ? 1_000 : 100_000
  const alone = await measureSpeedToLead({ ...load, steps: 0 })
  say('measured speed to lead')
  const beside = await measureSpeedToLead({ ...load, steps })
  say('measured it beside steps that come due')
  const { ours, theirs } = await measureSteps(rounds, quick ? 1_000 : 15_000)
  return [
    {
      measured: '200 of a lead to its first message handed to the messenger, 200 leads/s',
      ours: shown(alone.latency),
      baseline: '-',
      ratio: '-',
      goal: 'p99 at most 250 ms',
      met: alone.latency.p99 <= 250,
    },
    {
      measured: `the same beside ${steps} steps that come due in the same ${load.seconds} s`,
      ours: `${shown(beside.latency)}, ${beside.stepsPerSecond.toFixed(0)} steps/s beside`,
      baseline: shown(alone.latency),
      ratio: `p99 ${(beside.latency.p99 / alone.latency.p99).toFixed(1)}`,
      goal: 'p99 at most 1000 ms',
      met: beside.latency.p99 <= 1_000,
    },
    {
      measured: 'first messages that are due, worked off, 256 open requests',
      ours: `${ours.toFixed(0)}/s`,
      baseline: `${theirs.toFixed(0)}/s`,
      ratio: (ours / theirs).toFixed(2),
      goal: `at least ${pace}/s`,
      met: ours >= pace,
    },
  ]
}
