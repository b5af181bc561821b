import test from 'ava'
import { BSON, type Document } from 'mongodb'
import { commandIn } from './command.js'
import { answerWith, documentOf, messageReader, type Message } from './wire.js'

/** An OP_MSG whose list of updates stands in a section of its own, as the driver sends it. */
const updateOf = (updates: ReadonlyArray<Document>): Buffer => {
  const body = answerWith({ update: 'contacts@1#1', $db: 'leadloop' }, 0)
  const list = Buffer.concat([Buffer.from('updates\0'), ...updates.map((one) => BSON.serialize(one))])
  const section = Buffer.alloc(5)
  section.writeUInt8(1, 0)
  section.writeInt32LE(list.length + 4, 1)
  const whole = Buffer.concat([body, section, list])
  whole.writeInt32LE(whole.length, 0)
  return whole
}

const read = (chunks: ReadonlyArray<Buffer>): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  const take = messageReader((message) => messages.push(message))
  for (const chunk of chunks) take(chunk)
  return messages
}

test('messages are whole, however the bytes of them arrive', (t) => {
  const bytes = Buffer.concat([answerWith({ ok: 1 }, 7), answerWith({ ok: 0, code: 64 }, 8)])
  const whole = read([bytes])
  t.deepEqual(
    whole.map((message) => [message.responseTo, documentOf(message)]),
    [
      [7, { ok: 1 }],
      [8, { ok: 0, code: 64 }],
    ],
  )
  t.deepEqual(read(Array.from(bytes, (byte) => Buffer.from([byte]))), whole)
})

test('a command is known by its name and its collection, with the list that was sent beside it', (t) => {
  const updates = [{ q: { _id: 'a' } }, { q: { _id: 'b' } }]
  const [message] = read([updateOf(updates)])
  t.like(message === undefined ? undefined : commandIn(message), {
    name: 'update',
    collection: 'contacts@1#1',
    document: { $db: 'leadloop', updates },
  })
})
