import test from 'ava'
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

test('who has said so already says nothing new, and who never opted out has nothing to opt into', (t) => {
  given(t, senderOptOut, out('one')).when(stop('two')).isAlreadySo()
  given(t, senderOptOut).when(start('one')).isAlreadySo()
})

test('a text that comes again, after another that said the contrary, changes nothing', (t) => {
  given(t, senderOptOut, out('one'), back('two')).when(stop('one')).isAlreadySo()
  given(t, senderOptOut, out('one'), back('two'), out('three')).when(start('two')).isAlreadySo()
})
