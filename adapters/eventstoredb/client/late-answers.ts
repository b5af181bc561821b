import { createRequire } from 'node:module'

type Listener = (said: unknown) => void
type Call = { on: (event: string, listener: Listener) => Call }

/**
 * Whenever a client is disposed of, or its stream of appends breaks, the driver forgets all appends of this process
 * that wait for an answer. It throws at an answer to one of them that comes nevertheless, as from a server that hung
 * for a while, and nobody could catch that: the process would end. Who made the append was told that it failed, or gave
 * it up.
 */
const { StreamsClient } = createRequire(import.meta.url)('@eventstore/db-client/generated/streams_grpc_pb.js') as {
  readonly StreamsClient: { readonly prototype: { batchAppend: (this: unknown, ...options: Array<unknown>) => Call } }
}
const batchAppendOfDriver = StreamsClient.prototype.batchAppend

const forgiving =
  (listener: Listener): Listener =>
  (answer) => {
    try {
      listener(answer)
    } catch {
      // Where it was no late answer, its append is not answered, and tried again.
    }
  }

StreamsClient.prototype.batchAppend = function (...options) {
  const call = batchAppendOfDriver.apply(this, options)
  const on = call.on.bind(call)
  call.on = (event, listener) => on(event, event === 'data' ? forgiving(listener) : listener)
  return call
}
