import { getEventListeners } from 'node:events'
import test from 'ava'
import { abortable, aborted, eitherOf, neverAborted } from '../../domain/abortable.js'
import { endedWith } from '../kit/parts/ended-with.js'

test('however many wait for what nobody ends, none of them listens', async (t) => {
  for (let n = 0; n < 20; n += 1) void aborted(neverAborted)
  t.is(getEventListeners(neverAborted, 'abort').length, 0)
  let end = (): void => t.fail()
  const waiting = abortable(neverAborted, (done) => {
    end = done
    return undefined
  })
  end()
  await waiting
})

test('whoever has waited with a signal leaves no listener on it', async (t) => {
  const { signal } = new AbortController()
  let end = (): void => t.fail()
  const waiting = abortable(signal, (done) => {
    end = done
    return undefined
  })
  t.is(getEventListeners(signal, 'abort').length, 1)
  end()
  await waiting
  t.is(getEventListeners(signal, 'abort').length, 0)
})

test('either of two signals ends the work beside both, for its own reason, also where it aborted before', (t) => {
  for (const nth of [0, 1] as const) {
    const both = [new AbortController(), new AbortController()] as const
    const { signal } = eitherOf(both[0].signal, both[1].signal)
    t.false(signal.aborted)
    both[nth].abort(`reason ${nth}`)
    t.is(signal.reason, `reason ${nth}`)
    t.is(eitherOf(both[0].signal, both[1].signal).signal.reason, `reason ${nth}`)
    for (const one of both) t.is(getEventListeners(one.signal, 'abort').length, 0)
  }
})

test('work that was done beside a signal leaves nothing on it, however often, whether it was ended or not', (t) => {
  const { signal } = new AbortController()
  eitherOf(new AbortController().signal, signal).unlink()
  const before = endedWith(signal)
  for (let n = 0; n < 100; n += 1) {
    const short = new AbortController()
    const { unlink } = eitherOf(short.signal, signal)
    if (n % 2 === 0) short.abort()
    else unlink()
  }
  t.is(endedWith(signal), before)
  eitherOf(new AbortController().signal, neverAborted)
  t.is(getEventListeners(neverAborted, 'abort').length, 0)
})
