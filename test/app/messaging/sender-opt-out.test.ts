import test from 'ava'
import { saidByStrangers } from '../../../app/messaging/sender-opt-out.js'
import { contact } from '../../../domain/contact.js'
import { contactId, engagementId } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { openMessagingStage, writerOf } from './messaging-stage.js'

test('an opt-out of a contact that no read model shows yet is told to its conversation, as that of any other', async (t) => {
  const { commandHandler, clientCommands } = await openMessagingStage()
  const notShown = { isKnown: false, sender: '+14155550100' }
  const [begun, stranger] = [
    { ...writerOf(1), ...notShown },
    { ...writerOf(2), ...notShown },
  ]

  const known = await saidByStrangers({ commandHandler, clientCommands }, 'opted_out', [begun, stranger], 'test')
  t.deepEqual(rightOf(known), [{ ...begun, isKnown: true }])
  const stateOf = async (n: number) => rightOf(await commandHandler.load(contact, contactId(n))).state
  t.like(await stateOf(1), { kind: 'known', unconverted: [engagementId()] })
  t.deepEqual(await stateOf(2), { kind: 'unknown', optedOut: true })
})
