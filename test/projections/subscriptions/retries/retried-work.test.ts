import test from 'ava'
import { StoreFailed } from '../../../../domain/store-failed.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { workWithRetry } from '../../../../projections/subscriptions/retries/retried-work.js'
import { testLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'

const away = new StoreFailed({ kind: 'unavailable', reason: 'away' })

/** Work under a lease that fails so many times in a row; `whilePausing` is told how often it has failed. */
const stage = (timesFailing: number, whilePausing: (failures: number) => void = () => undefined) => {
  const lease = testLease('shard')
  const logger = recordingLogger()
  const failing = failingWork({ now: () => 0 })
  const pauses: Array<number> = []
  const reasons: Array<string | undefined> = []
  let tries = 0
  const ports = {
    logger,
    failingWork: failing,
    backoff: (failures: number) => {
      pauses.push(failures)
      reasons.push(failing.reason())
      whilePausing(failures)
      return Promise.resolve()
    },
  }
  const retried = { lease, name: 'reading', message: 'it could not be read', fields: { shard: lease.name } }
  const run = () =>
    workWithRetry(ports, retried, () => {
      tries += 1
      return tries <= timesFailing ? Promise.reject(away) : Promise.resolve()
    })
  return { lease, logger, failing, pauses, reasons, run, tries: () => tries }
}

test('work that succeeds is done once, and nobody hears of it', async (t) => {
  const { run, tries, logger, pauses } = stage(0)
  await run()
  t.is(tries(), 1)
  t.deepEqual([logger.lines, pauses], [[], []])
})

test('work that fails is tried until it succeeds, told of less and less often, and by health until then', async (t) => {
  const { run, tries, logger, pauses, reasons, failing } = stage(5)
  await run()
  t.is(tries(), 6)
  t.deepEqual(pauses, [0, 1, 2, 3, 4])
  t.deepEqual(reasons, ['away', 'away', 'away', 'away', 'away'])
  t.is(failing.reason(), undefined)
  const line = { level: 'warn', fields: { shard: 'shard', reason: 'away' }, message: 'it could not be read' } as const
  t.deepEqual(logger.lines, [line, line, line], 'after 1, 2 and 4 failures')
})

test('work is not tried any more once its lease is ending, nor begun after that', async (t) => {
  const { run, tries, lease, failing } = stage(Infinity, (failures) => {
    if (failures === 2) lease.recall()
  })
  await run()
  t.is(tries(), 3)
  t.is(failing.reason(), undefined)
  await run()
  t.is(tries(), 3)
})
