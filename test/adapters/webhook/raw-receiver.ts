import { createServer as createPlain, type AddressInfo, type Socket } from 'node:net'
import { createServer as createSecure, type TlsOptions } from 'node:tls'

/** What a receiver does with a connection, and with each request that has come whole. */
export type Behaviour = {
  readonly onConnection?: (connection: Socket) => void
  readonly onRequest?: (connection: Socket, request: string) => void
}

/** A receiver that speaks bytes, not HTTP. */
export type RawReceiver = {
  readonly port: number
  /** Every whole request. */
  readonly requests: ReadonlyArray<string>
  /** Connections that were ever made, TLS not included, and those that are open now. */
  readonly made: () => number
  readonly open: () => number
  readonly close: () => Promise<void>
}

/** Takes whole requests out of bytes that come in pieces. */
class RequestParser {
  #pieces: Array<Buffer> = []
  #length = 0
  /** The length of the request that has begun, once its headers are there. */
  #expected: number | undefined

  /** The request that these bytes complete; what comes after it begins the next one. */
  add(bytes: Buffer): string | undefined {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    this.#expected ??= this.#expectedLength()
    if (this.#expected === undefined || this.#length < this.#expected) return undefined
    const all = Buffer.concat(this.#pieces)
    const request = all.subarray(0, this.#expected).toString('latin1')
    this.#pieces = [all.subarray(this.#expected)]
    this.#length = all.length - this.#expected
    this.#expected = undefined
    return request
  }

  #expectedLength(): number | undefined {
    const text = Buffer.concat(this.#pieces).toString('latin1')
    const headers = text.indexOf('\r\n\r\n')
    if (headers === -1) return undefined
    return headers + 4 + Number(/^content-length: (\d+)/im.exec(text.slice(0, headers))?.[1] ?? 0)
  }
}

export const openRawReceiver = async (
  { onConnection, onRequest }: Behaviour,
  identity?: TlsOptions,
): Promise<RawReceiver> => {
  const requests: Array<string> = []
  const sockets = new Set<Socket>()
  let made = 0

  const track = (socket: Socket): void => {
    made += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  }
  const serve = (socket: Socket): void => {
    const parser = new RequestParser()
    socket.on('error', () => undefined)
    // The other side is closed only by a behaviour that says so, or after ours.
    socket.on('end', () => socket.end())
    socket.on('data', (bytes: Buffer) => {
      const request = parser.add(bytes)
      if (request === undefined) return
      requests.push(request)
      onRequest?.(socket, request)
    })
    onConnection?.(socket)
  }

  const server =
    identity === undefined
      ? createPlain({ allowHalfOpen: true }, serve).on('connection', track)
      : createSecure(identity, serve).on('connection', track)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    made: () => made,
    open: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Does something again and again until the connection is gone. */
export const every = (milliseconds: number, connection: Socket, does: (n: number) => void): void => {
  let n = 0
  const timer = setInterval(() => {
    n += 1
    does(n)
  }, milliseconds)
  connection.once('close', () => clearInterval(timer))
}

/** Writes as much as the connection takes; returns how many bytes that were. */
export const flood = (connection: Socket, piece: string | Buffer): (() => number) => {
  let written = 0
  const writeMore = (): void => {
    while (connection.writable) {
      written += piece.length
      if (!connection.write(piece)) break
    }
  }
  connection.on('drain', writeMore)
  writeMore()
  return () => written
}
