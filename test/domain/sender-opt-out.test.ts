import test from 'ava'
import { fold } from '../../domain/decider.js'
import { senderOptOut, type SenderOptOutCommand, type SenderOptOutEvent } from '../../domain/sender-opt-out.js'
import { senderOptOutId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const stop = (textId: string): SenderOptOutCommand => ({ type: 'OptOutOfSender', optOutId: senderOptOutId(), textId })
const start = (textId: string): SenderOptOutCommand => ({ type: 'OptInToSender', optOutId: senderOptOutId(), textId })
const out = (text_id: string): SenderOptOutEvent => ({
  type: 'OptedOutOfSender',
  data: { opt_out_id: senderOptOutId(), text_id },
})
const back = (text_id: string): SenderOptOutEvent => ({
  type: 'OptedInToSender',
  data: { opt_out_id: senderOptOutId(), text_id },
})

test('a number opts out of a sender, and in again', (t) => {
  given(t, senderOptOut).when(stop('one')).then(out('one'))
  given(t, senderOptOut, out('one')).when(start('two')).then(back('two'))
})

test('what is said is remembered also where it is so already', (t) => {
  given(t, senderOptOut, out('one')).when(stop('two')).then(out('two'))
  given(t, senderOptOut).when(start('one')).then(back('one'))
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
