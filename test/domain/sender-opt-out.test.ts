import test from 'ava'
import { fold } from '../../domain/decider.js'
import { senderOptOut, type SenderOptOutCommand, type SenderOptOutEvent } from '../../domain/sender-opt-out.js'
import { at, senderOptOutId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const stop = (textId: string, n = 0): SenderOptOutCommand => ({
  ...{ type: 'OptOutOfSender', optOutId: senderOptOutId() },
  ...{ textId, at: at(n) },
})
const start = (textId: string, n = 0): SenderOptOutCommand => ({ ...stop(textId, n), type: 'OptInToSender' })
const out = (text_id: string, n = 0): SenderOptOutEvent => ({
  type: 'OptedOutOfSender',
  data: { opt_out_id: senderOptOutId(), text_id, said_at: at(n) },
})
const back = (text_id: string, n = 0): SenderOptOutEvent => ({ ...out(text_id, n), type: 'OptedInToSender' })

test('a number opts out of a sender, and in again', (t) => {
  given(t, senderOptOut).when(stop('one')).then(out('one'))
  given(t, senderOptOut, out('one')).when(start('two', 5)).then(back('two', 5))
})

test('what is said is remembered also where it is so already', (t) => {
  given(t, senderOptOut, out('one')).when(stop('two', 5)).then(out('two', 5))
  given(t, senderOptOut).when(start('one')).then(back('one'))
})

test('what is said later has a later time, whichever clock it comes by', (t) => {
  given(t, senderOptOut, out('one', 5)).when(start('two', 5)).then(back('two', 6))
  given(t, senderOptOut, out('one', 5), back('two', 6)).when(stop('three')).then(out('three', 7))
})

test('a text that comes again, after another that said the contrary, changes nothing', (t) => {
  given(t, senderOptOut, out('one'), back('two')).when(stop('one')).isAlreadySo()
  given(t, senderOptOut, out('one'), out('two'), back('three')).when(stop('two')).isAlreadySo()
  given(t, senderOptOut, back('one'), out('two')).when(start('one')).isAlreadySo()
})

test('the text that takes an opt-out back is known until the next one', (t) => {
  const optedInBy = (...events: ReadonlyArray<SenderOptOutEvent>) =>
    fold(senderOptOut, senderOptOut.initial, events).optedInBy
  t.is(optedInBy(back('one')), undefined, 'nobody had opted out')
  t.is(optedInBy(out('one'), back('two'), back('three')), 'two')
  t.is(optedInBy(out('one'), back('two'), out('three')), undefined)
})
