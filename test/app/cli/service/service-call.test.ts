import test from 'ava'
import { callOf } from '../../../../app/cli/service/service-call.js'
import { E } from '../../../../domain/prelude.js'
import { manualTime } from '../../../kit/time/manual-time.js'

test('of a call to where nothing listens it is not said that it may go on', async (t) => {
  // Not a port that was just closed: a process that begins meanwhile holds a copy of its socket.
  const called = await callOf('http://127.0.0.1:9', 'key', manualTime().process())('POST', '/erasures')
  t.regex(E.isLeft(called) ? called.left : '', / ECONNREFUSED 127\.0\.0\.1:9\.$/)
})
