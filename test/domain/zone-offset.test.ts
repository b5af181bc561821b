import test from 'ava'
import { offsetAt, zoneOffsets } from '../../domain/zone-offset.js'

const hour = 3_600_000
const day = 24 * hour
const start = Date.UTC(2026, 0, 1)

test('the clocks of a zone change at the minute at which they do', (t) => {
  const change = Date.UTC(2026, 2, 8, 10)
  t.deepEqual(offsetAt('America/Los_Angeles', change - 1), { offset: -8 * hour, until: change })
  t.is(offsetAt('America/Los_Angeles', change).offset, -7 * hour)
  t.is(offsetAt('America/Phoenix', change).offset, -7 * hour)
})

test('an instant costs two questions to the clocks, a change some more, and the week that it is in no other', (t) => {
  const change = start + 100 * day + 5 * hour
  let asked = 0
  const offsets = zoneOffsets((at) => {
    asked += 1
    return at < change ? 0 : hour
  })
  t.is(offsets(start).offset, 0)
  t.is(asked, 2)
  for (let at = start; at < start + 365 * day; at += hour) t.is(offsets(at).offset, at < change ? 0 : hour)
  t.true(asked <= 2 * 54 + 14, `${asked} questions for the hours of a year`)
  const before = asked
  for (let year = 2; year < 52; year += 1) offsets(start + year * 366 * day)
  t.is(asked - before, 100, 'for an instant in each of fifty years')
})
