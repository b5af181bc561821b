import test from 'ava'
import { compose } from '../../../app/composition/compose.js'
import { E } from '../../../domain/prelude.js'
import { configOf } from '../../kit/service/settings.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

test('a service that is told to stop while it begins ends in good order, and the next one has all it needs', async (t) => {
  const config = configOf(temporaryDirectory(t))
  const stops: Array<Promise<void>> = []
  const stopped = await compose(config, (stop) => void stops.push(stop()))
  t.is(stops.length, 1)
  await Promise.all(stops)
  t.true(E.isLeft(stopped))
  const next = await compose(config)
  t.true(E.isRight(next) && next.right.firstAccount !== undefined)
  if (E.isRight(next)) await next.right.stop()
})
