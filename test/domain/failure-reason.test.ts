import test from 'ava'
import { reasonOf, StatedFailure } from '../../domain/failure-reason.js'
import { instantOf } from '../../domain/instant.js'
import { StoreFailed } from '../../domain/store-failed.js'

const phone = '+14155550123'

test('a failure that we state is told by its reason', (t) => {
  t.is(reasonOf(new StatedFailure('the store was away')), 'the store was away')
  t.is(reasonOf(new StoreFailed({ kind: 'unavailable', reason: 'away' })), 'away')
})

test('whatever else is thrown is told by its kind, and never by its message', (t) => {
  t.is(reasonOf(new TypeError(`${phone} is no number`)), 'an exception (TypeError)')
  t.is(reasonOf(phone), 'an exception (string)')
})

test('an exception that comes from our own code is told by its place, too', (t) => {
  const error = t.throws(() => instantOf(NaN))
  t.regex(reasonOf(error), /^an exception \(RangeError at domain\/instant\.[jt]s:\d+\)$/)
})

test('what looks like a place in the message of an exception holds no value where it is told', (t) => {
  const frames = [
    `    at ${phone}`,
    `    at call (file:///dist/app/${phone}.js:1:1)`,
    `    at call (/dist/app/x.js:4155550123:1)`,
    '    at y/app/john/doe.ts:4155:1',
  ]
  for (const frame of frames) t.is(reasonOf(new TypeError(`none\n${frame}`)), 'an exception (TypeError)')
})
