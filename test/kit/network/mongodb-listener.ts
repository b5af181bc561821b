import { createServer, type AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'
import type { Document } from 'mongodb'
import { commandIn } from '../../mongodb-proxy/command.js'
import { answerWith, messageReader } from '../../mongodb-proxy/wire.js'

/** What a single MongoDB of a version that is known says of itself first. */
export const hello = { ok: 1, helloOk: true, isWritablePrimary: true, minWireVersion: 0, maxWireVersion: 21 }

/**
 * Listens without a server behind it, and answers each command, by its name, as `answers` says: the first one of a
 * connection after so many milliseconds. Gives its port.
 */
export const mongoListener = async (
  t: ExecutionContext,
  answers: Readonly<Record<string, Document>>,
  firstAfter = 0,
): Promise<number> => {
  const listener = createServer((socket) => {
    socket.on('error', () => undefined)
    let wait = firstAfter
    const answer = messageReader((message) => {
      // The first message of a connection is of the old kind, and asks who answers.
      const name = commandIn(message)?.name ?? 'hello'
      const bytes = answerWith(answers[name] ?? { ok: 0, code: 59 }, message.requestId)
      setTimeout(() => socket.write(bytes), wait).unref()
      wait = 0
    })
    socket.on('data', answer)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void listener.close())
  return (listener.address() as AddressInfo).port
}
