import test from 'ava'
import { eraseContact, type Erasures } from '../../../app/commands/erasures.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { E } from '../../../domain/prelude.js'
import { accountId, contactId, positionAt } from '../../kit/domain/samples.js'

const erased = { accountId: accountId(), contactId: contactId(), by: 'ticket-1' }
const erasureId = erasureIdOf(contactId())
const unavailable = { kind: 'unavailable', reason: 'the disk is full' } as const

/** What is asked for, in its order; `failing` names the command that the store does not take. */
const stage = ({ isRepeated = false, failing = 'none' } = {}) => {
  const asked: Array<string> = []
  const clientCommands = {
    execute: ({ category }: { readonly category: string }, id: string, { type }: { readonly type: string }) => {
      asked.push(`${type} of ${category}-${id}`)
      const events = isRepeated ? [] : [{ type, position: positionAt(asked.length) }]
      return Promise.resolve(type === failing ? E.left(unavailable) : E.right({ state: {}, events }))
    },
  } as unknown as ClientCommands
  const erasures: Erasures = {
    knownToAll: () => {
      asked.push('known to all')
      return Promise.resolve()
    },
    ended: (id, requestedAt) => {
      asked.push(`end of ${id} since ${String(requestedAt)}`)
      return Promise.resolve(E.right({ summary: undefined, isPurged: false }))
    },
  }
  return { asked, erase: () => eraseContact({ clientCommands, erasures }, erased, 'operator') }
}

const commands = [
  `BeginErasures of account-${accountId()}`,
  `RequestErasure of erasure-${erasureId}`,
  `EraseContact of contact-${contactId()}`,
]

test('a contact is closed at once, and its end is waited for when every process knows of the erasure', async (t) => {
  const { asked, erase } = stage()
  t.like(await erase(), E.right({ isPurged: false, events: [{ type: 'RequestErasure' }] }))
  t.deepEqual(asked, [...commands, 'known to all', `end of ${erasureId} since 2`])
})

test('an erasure that is asked for again waits for nothing, and tells how far the first one has come', async (t) => {
  const { asked, erase } = stage({ isRepeated: true })
  t.like(await erase(), E.right({ isPurged: false, events: [] }))
  t.deepEqual(asked, [...commands, `end of ${erasureId} since undefined`])
})

for (const [nth, failing] of ['BeginErasures', 'RequestErasure', 'EraseContact'].entries()) {
  test(`where the store does not take ${failing} nothing more is done, and the client is told`, async (t) => {
    const { asked, erase } = stage({ failing })
    t.deepEqual(await erase(), E.left(unavailable))
    t.deepEqual(asked, commands.slice(0, nth + 1))
  })
}
