import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Document } from 'mongodb'
import { commandIn, type Command } from './command.js'
import { replicaSet } from './replica-set.js'
import { answerWith, documentOf, messageReader, type Message } from './wire.js'

/** What a member of a replica set may answer instead of, or after, doing what a command says. */
type Fault =
  /** Nothing is done. */
  | { readonly kind: 'error'; readonly code: number }
  /** Nothing is done, and the answer says so of its first write. */
  | { readonly kind: 'write-error'; readonly code: number }
  /** It is done, and a majority did not acknowledge it. */
  | { readonly kind: 'write-concern-error'; readonly code: number }
  /** The connection breaks, before it is done or before it is answered. */
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  /** Something happens first, then it is done and answered. */
  | { readonly kind: 'after'; readonly happens: () => Promise<void> | void }
  /** It is answered as if it were done, after something happened: for writes of which only the number counts. */
  | { readonly kind: 'as-if-done'; readonly happens: () => void }

type Which = (command: Command) => boolean

/** Stands before a MongoDB and gives the answers of a replica set. */
export type MongoProxy = {
  readonly port: number
  /** What clients sent, without what the driver asks for itself. */
  readonly commands: ReadonlyArray<Command>
  /** The next such commands are answered so; `times` is 1 where it is not given. */
  readonly fail: (which: Which, fault: Fault, times?: number) => void
  /** Another member becomes the primary: what no majority acknowledged is lost. */
  readonly elect: () => Promise<void>
  readonly close: () => Promise<void>
}

/** What a server says may hold what was written, and must not be repeated by anyone. */
export const wordsOfTheServer = 'dup key: { phone: "+14155550123" }'

type Rule = { readonly which: Which; readonly fault: Fault; left: number }

const ofTheDriver = new Set(['hello', 'isMaster', 'ismaster', 'ping', 'endSessions', 'killCursors'])

/** `url` is that of the server behind. */
export const mongoProxy = async (url: string): Promise<MongoProxy> => {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const commands: Array<Command> = []
  const rules: Array<Rule> = []
  const members = replicaSet(url)

  const faultFor = (command: Command): Fault | undefined => {
    const rule = rules.find(({ which, left }) => left > 0 && which(command))
    if (rule !== undefined) rule.left -= 1
    return rule?.fault
  }

  const serve = (client: Socket): void => {
    const server = connect(Number(port), hostname)
    /** By the number of the request, what becomes of its answer. */
    const onAnswer = new Map<number, (answer: Message) => Promise<void> | void>()
    const cut = (): void => {
      client.destroy()
      server.destroy()
    }
    const pass = async (command: Command, message: Message, fault: Fault | undefined): Promise<void> => {
      const isUnacknowledged = fault?.kind === 'write-concern-error'
      if (isUnacknowledged) await members.beforeUnacknowledged(command)
      onAnswer.set(message.requestId, (answer) => {
        const document = documentOf(answer) ?? {}
        if (!isUnacknowledged) members.acknowledge(command, document)
        if (fault?.kind === 'cut') cut()
        else if (isUnacknowledged)
          client.write(answerWith({ ...document, writeConcernError: errorOf(fault.code) }, message.requestId))
        else client.write(answer.bytes)
      })
      server.write(message.bytes)
    }
    const handle = async (message: Message): Promise<void> => {
      const command = commandIn(message)
      if (command === undefined || ofTheDriver.has(command.name)) {
        server.write(message.bytes)
        return
      }
      commands.push(command)
      const fault = faultFor(command)
      if (fault?.kind === 'cut' && fault.when === 'before') cut()
      else if (fault?.kind === 'error') client.write(answerWith({ ok: 0, ...errorOf(fault.code) }, message.requestId))
      else if (fault?.kind === 'write-error') {
        const writeErrors = [{ index: 0, ...errorOf(fault.code) }]
        client.write(answerWith({ ok: 1, n: 0, nModified: 0, writeErrors }, message.requestId))
      } else if (fault?.kind === 'as-if-done') {
        fault.happens()
        client.write(answerWith({ ok: 1, n: 0, nModified: 0 }, message.requestId))
      } else {
        if (fault?.kind === 'after') await fault.happens()
        await pass(command, message, fault)
      }
    }
    let handled = Promise.resolve()
    client.on(
      'data',
      messageReader((message) => {
        handled = handled.then(() => handle(message))
      }),
    )
    server.on(
      'data',
      messageReader((message) => {
        const answered = onAnswer.get(message.responseTo)
        onAnswer.delete(message.responseTo)
        if (answered === undefined) client.write(message.bytes)
        else void answered(message)
      }),
    )
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
  }

  const listener = createServer(serve)
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (listener.address() as AddressInfo).port,
    commands,
    fail: (which, fault, times = 1) => void rules.push({ which, fault, left: times }),
    elect: members.elect,
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      await members.close()
    },
  }
}

const errorOf = (code: number): Document => ({ code, codeName: `Code${code}`, errmsg: wordsOfTheServer })
