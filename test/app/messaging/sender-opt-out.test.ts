import test from 'ava'
import { engagementsNotEnded } from '../../../app/http/problem.js'
import { recordAtSender, recordForStrangers } from '../../../app/messaging/sender-opt-out.js'
import { contact } from '../../../domain/contact.js'
import { E } from '../../../domain/prelude.js'
import { at, contactId, engagementId, phone } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { openMessagingStage, writerOf } from './messaging-stage.js'

test('an opt-out of a contact that no read model shows yet is told to its conversation, as that of any other', async (t) => {
  const { logger, commandHandler, clientCommands } = await openMessagingStage()
  const notShown = { isKnown: false, optedOutBefore: false, sender: '+14155550100' }
  const [begun, stranger] = [
    { ...writerOf(1), ...notShown },
    { ...writerOf(2), ...notShown },
  ]

  const known = await recordForStrangers(
    { logger, commandHandler, clientCommands },
    { meaning: 'opted_out', saidAt: undefined, takesBack: false },
    [begun, stranger],
    'test',
  )
  t.deepEqual(rightOf(known), [{ ...begun, isKnown: true }])
  const stateOf = async (n: number) => rightOf(await commandHandler.load(contact, contactId(n))).state
  t.like(await stateOf(1), { kind: 'known', unconverted: [engagementId()] })
  t.deepEqual(await stateOf(2), { kind: 'unknown', optedOut: true })
})

test('an opt-out of a number without a contact is not answered while what follows from it is still to come', async (t) => {
  const { logger, commandHandler, clientCommands } = await openMessagingStage()
  const pending: typeof clientCommands = {
    execute: async (...args) => {
      const done = await clientCommands.execute(...args)
      return E.isLeft(done) ? done : E.right({ ...done.right, isPending: true })
    },
  }
  const stranger = { ...writerOf(2), isKnown: false, optedOutBefore: false, sender: '+14155550100' }
  for (const meaning of ['opted_out', 'opted_in'] as const) {
    const said = { meaning, saidAt: undefined, takesBack: false }
    const recorded = await recordForStrangers(
      { logger, commandHandler, clientCommands: pending },
      said,
      [stranger],
      'test',
    )
    t.deepEqual(recorded, meaning === 'opted_out' ? E.left(engagementsNotEnded) : E.right([]), meaning)
  }
})

test('a START of a number whose contact was erased is recorded with its order at the sender', async (t) => {
  const { logger, commandHandler, clientCommands } = await openMessagingStage()
  const stranger = { ...writerOf(2), isKnown: false, optedOutBefore: true, sender: '+14155550100' }
  const said = { meaning: 'opted_in', saidAt: at(5), takesBack: false } as const
  t.deepEqual(
    rightOf(await recordForStrangers({ logger, commandHandler, clientCommands }, said, [stranger], 'test')),
    [],
  )
  const { state } = rightOf(await commandHandler.load(contact, contactId(2)))
  t.deepEqual(state, { kind: 'unknown', optedOut: false, optedInAt: at(5) })
})

test('a YES that opted in, and comes again since its accounts could not be told, opts in; one where nobody opted out says nothing', async (t) => {
  const { clock, commandHandler, clientCommands } = await openMessagingStage()
  const say = async (text: string, textId: string) => {
    const ports = { clock, commandHandler, clientCommands, vault: plainVault }
    const told = await recordAtSender(ports, phone(), ['+14155550100', 'a service'], { text, textId, actor: 'test' })
    const heard = rightOf(told)
    return heard === 'repeated' ? heard : heard.meaning
  }
  t.is(await say('Yes', 'one'), undefined)
  t.is(await say('STOP', 'two'), 'opted_out')
  t.is(await say('Yes', 'three'), 'opted_in')
  t.is(await say('Yes', 'three'), 'opted_in')
  t.is(await say('Yes', 'four'), undefined)
  t.is(await say('STOP', 'two'), 'repeated')
  t.is(await say('Start', 'five'), 'opted_in')
})
