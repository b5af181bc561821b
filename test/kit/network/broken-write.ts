import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { Scope } from '../temporary-directory.js'

/** The open sockets of this process's clients. */
const sockets = new Set<Socket>()

subscribe('net.client.socket', (message) => {
  const { socket } = message as { readonly socket: Socket }
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

/**
 * Destroys the open socket to which a text is written next, in the moment before: Node tells whoever writes to it
 * nothing any more then. Tells whether it has.
 */
export const breakNextWriteOf = (scope: Scope, text: string): (() => boolean) => {
  let isBroken = false
  const breakable = [...sockets].map((socket) => {
    const write = socket.write.bind(socket) as (...args: ReadonlyArray<unknown>) => boolean
    socket.write = (...args: ReadonlyArray<unknown>): boolean => {
      const [bytes] = args
      if (!isBroken && bytes instanceof Uint8Array && Buffer.from(bytes).includes(text)) {
        isBroken = true
        socket.destroy()
      }
      return write(...args)
    }
    return { socket, write }
  })
  scope.teardown(() => {
    for (const { socket, write } of breakable) socket.write = write
  })
  return () => isBroken
}
