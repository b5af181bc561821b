import test from 'ava'
import { StatedFailure } from '../../../../domain/failure-reason.js'
import { scheduledJob } from '../../../../projections/delivery/jobs/scheduled-job.js'
import { webhookQueue, type WebhookQueue } from '../../../../projections/delivery/queue/webhook-queue.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { testLease, type TestLease } from '../../../kit/parts/lease.js'
import { webhookId } from '../../../kit/domain/samples.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { nextTurn, settled, isOver, turnTime } from '../../../kit/time/turns.js'
import { until } from '../../../kit/time/until.js'

type Run = { readonly queue: WebhookQueue; readonly end: () => void; readonly fail: () => void }

/** A job whose runs end when the test says so. */
const openStage = () => {
  const runs: Array<Run> = []
  const waits: Array<number> = []
  const logger = recordingLogger()
  const job = scheduledJob(
    {
      name: 'a job',
      work: (queue) =>
        new Promise((end, reject) => {
          runs.push({ queue, end, fail: () => reject(new StatedFailure('the store was unavailable')) })
        }),
    },
    {
      logger,
      failingWork: failingWork(turnTime),
      backoff: (failures) => {
        waits.push(failures)
        return nextTurn()
      },
    },
  )
  const queueOf = (n: number, lease: TestLease = testLease('shard')): WebhookQueue => webhookQueue(webhookId(n), lease)
  return { ...job, runs, waits, lines: logger.lines, queueOf }
}

test('a job runs once, and has ended then', async (t) => {
  const { run, ended, runs, queueOf } = openStage()
  const queue = queueOf(1)
  t.true(await isOver(ended(queue)))
  run(queue)
  const end = ended(queue)
  t.false(await isOver(end))
  runs[0]?.end()
  t.true(await isOver(end))
  t.is(runs.length, 1)
})

test('a job that is asked for while it runs runs once more afterwards, however often it was asked for', async (t) => {
  const { run, ended, runs, queueOf } = openStage()
  const queue = queueOf(1)
  run(queue)
  run(queue)
  run(queue)
  await settled()
  t.is(runs.length, 1)
  runs[0]?.end()
  await settled()
  t.is(runs.length, 2)
  const end = ended(queue)
  t.false(await isOver(end))
  runs[1]?.end()
  t.true(await isOver(end))
  t.is(runs.length, 2)
})

test('a job that has ended runs anew when it is asked for again', async (t) => {
  const { run, runs, queueOf } = openStage()
  const queue = queueOf(1)
  run(queue)
  runs[0]?.end()
  await settled()
  run(queue)
  t.is(runs.length, 2)
})

test('queues do not wait for the jobs of each other', (t) => {
  const { run, runs, queueOf } = openStage()
  const queues = [queueOf(1), queueOf(2)]
  queues.forEach(run)
  t.deepEqual(
    runs.map(({ queue }) => queue),
    queues,
  )
})

test('a job that fails is retried until it succeeds, with a backoff that begins anew after a success', async (t) => {
  const { run, ended, runs, waits, queueOf } = openStage()
  const queue = queueOf(1)
  run(queue)
  for (let failures = 0; failures < 3; failures += 1) {
    runs.at(-1)?.fail()
    await settled()
  }
  t.is(runs.length, 4)
  run(queue)
  runs.at(-1)?.end()
  await settled()
  runs.at(-1)?.fail()
  await settled()
  t.deepEqual(waits, [0, 1, 2, 0])
  runs.at(-1)?.end()
  t.true(await isOver(ended(queue)))
})

test('a job that fails for days is told of less and less often, and at once where it fails anew', async (t) => {
  const { run, runs, lines, queueOf } = openStage()
  run(queueOf(1))
  const fail = async (): Promise<void> => {
    const before = runs.length
    runs.at(-1)?.fail()
    await until('the job runs again', 30_000, () => runs.length > before)
  }
  for (let tries = 1; tries <= 1_000; tries += 1) await fail()
  t.is(lines.length, 10, 'after 1, 2, 4, … 512 tries')
  t.like(lines[0], { message: 'a job failed and is retried', fields: { reason: 'the store was unavailable' } })
  run(queueOf(2))
  await fail()
  t.is(lines.length, 11)
})

test('after its lease was lost a job is neither begun, nor retried, nor run again, and has ended with its run', async (t) => {
  const { run, ended, runs, queueOf } = openStage()
  const lost = testLease('lost')
  lost.expire()
  run(queueOf(1, lost))
  t.is(runs.length, 0)

  const leases = [testLease('failing'), testLease('asked for again')]
  const queues = leases.map((lease, n) => queueOf(n, lease))
  for (const queue of queues) {
    run(queue)
    run(queue)
  }
  for (const lease of leases) lease.recall()
  const ends = Promise.all(queues.map(ended)).then(() => undefined)
  t.false(await isOver(ends))
  runs[0]?.fail()
  runs[1]?.end()
  t.true(await isOver(ends))
  t.is(runs.length, 2)
})
