import { Socket } from 'node:net'
import type { Scope } from '../temporary-directory.js'

/**
 * Destroys the socket to which a text is written next, in the moment before: Node tells whoever writes to it nothing any more then. Tells
 * whether it has.
 */
export const breakNextWriteOf = (scope: Scope, text: string): (() => boolean) => {
  const write = Reflect.get(Socket.prototype, 'write') as (...args: ReadonlyArray<unknown>) => boolean
  let isBroken = false
  Socket.prototype.write = function (this: Socket, ...args: ReadonlyArray<unknown>): boolean {
    const [bytes] = args
    if (bytes instanceof Uint8Array && Buffer.from(bytes).includes(text)) {
      Socket.prototype.write = write
      this.destroy()
      isBroken = true
    }
    return Reflect.apply(write, this, args)
  }
  scope.teardown(() => void (Socket.prototype.write = write))
  return () => isBroken
}
