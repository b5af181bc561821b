import { getEventListeners } from 'node:events'
import test from 'ava'
import { abortable, aborted, neverAborted } from '../../domain/abortable.js'

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
