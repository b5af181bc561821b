import test from 'ava'
import { lagsOf } from '../../../app/http/monitoring/lags.js'
import { positionAt } from '../../kit/domain/samples.js'
import { manualTime } from '../../kit/time/manual-time.js'

test('however many followers can not tell their position, whoever watches waits for a second in all', async (t) => {
  const time = manualTime()
  const silent = { furthestPosition: () => new Promise<undefined>(() => undefined) }
  const known = { furthestPosition: () => Promise.resolve(positionAt(3)) }
  const lags = lagsOf([silent, known, ...Array.from({ length: 12 }, () => silent)], positionAt(10), time.process())
  await time.advance(1_000)
  t.deepEqual(await lags, [undefined, 7, ...Array.from({ length: 12 }, () => undefined)])
})
