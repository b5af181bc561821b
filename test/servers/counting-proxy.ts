import type shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ExecutionContext } from 'ava'
import { once } from 'node:events'
import { connect, constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

/** The streams that were asked for so far, each as often as it was. */
type Calls = { readonly appendedTo: ReadonlyArray<string>; readonly read: ReadonlyArray<string> }

type CountingProxy = { readonly url: string; readonly calls: () => Calls }

/** The service of EventStoreDB that all appends and reads go to. */
const service = '/event_store.client.streams.Streams/'

/**
 * Stands before an EventStoreDB without TLS, whichever it is, and counts what is asked of it: each append, in a call of
 * its own or in the shared one, and each stream that is read.
 */
export const countingProxy = async (t: ExecutionContext, url: string): Promise<CountingProxy> => {
  const { host, search } = new URL(url)
  const session = connect(`http://${host}`)
  const appendedTo: Array<string> = []
  const read: Array<string> = []

  const count = (path: string, message: Buffer): void => {
    if (path === `${service}Read`) {
      read.push(...namedBy(streams.ReadReq.deserializeBinary(message).getOptions()?.getStream()))
    } else if (path === `${service}Append`) {
      appendedTo.push(...namedBy(streams.AppendReq.deserializeBinary(message).getOptions()))
    } else if (path === `${service}BatchAppend`) {
      appendedTo.push(...namedBy(streams.BatchAppendReq.deserializeBinary(message).getOptions()))
    }
  }

  const forward = (call: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const path = headers[':path'] ?? ''
    const upstream = session.request({ ...headers, ':authority': host })
    const take = messages((message) => count(path, message))
    call.on('data', take)
    call.pipe(upstream)
    call.on('error', () => upstream.close(constants.NGHTTP2_CANCEL))
    call.on('close', () => upstream.close(constants.NGHTTP2_CANCEL))
    upstream.on('error', () => call.close(constants.NGHTTP2_INTERNAL_ERROR))
    let trailers: IncomingHttpHeaders = {}
    upstream.on('trailers', (sent: IncomingHttpHeaders) => {
      trailers = sent
    })
    upstream.on('response', (answer, flags) => {
      const isOver = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      call.respond(answer, { endStream: isOver, waitForTrailers: !isOver })
      if (isOver) return
      call.on('wantTrailers', () => call.sendTrailers(trailers))
      upstream.pipe(call)
    })
  }

  const server = createServer()
  server.on('stream', forward)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    session.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `esdb://127.0.0.1:${port}${search}`, calls: () => ({ appendedTo: [...appendedTo], read: [...read] }) }
}

type Named = { readonly getStreamIdentifier: () => shared.StreamIdentifier | undefined }

/** Only the first message of a call, or of an append, names its stream. */
const namedBy = (options: Named | undefined): ReadonlyArray<string> => {
  const name = options?.getStreamIdentifier()?.getStreamName_asU8()
  return name === undefined ? [] : [Buffer.from(name).toString('utf8')]
}

/** Cuts a body of gRPC into its messages: a byte, four of the length, and the message. */
const messages = (take: (message: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5) {
      const end = 5 + rest.readUInt32BE(1)
      if (rest.length < end) return
      take(rest.subarray(5, end))
      rest = rest.subarray(end)
    }
  }
}
