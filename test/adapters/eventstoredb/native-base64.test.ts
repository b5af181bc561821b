import test from 'ava'
import fc from 'fast-check'
import { createRequire } from 'node:module'
import '../../../adapters/eventstoredb/client/native-base64.js'

const requireOfDriver = createRequire(createRequire(import.meta.url).resolve('@eventstore/db-client'))
const { BatchAppendReq } = requireOfDriver('../generated/streams_pb.js') as {
  readonly BatchAppendReq: {
    readonly ProposedMessage: new () => {
      readonly setData: (bytes: string | Uint8Array) => void
      readonly getData_asU8: () => Uint8Array
    }
  }
}

test('the driver sends the bytes that it was given, as base64 or as they are', (t) => {
  const message = new BatchAppendReq.ProposedMessage()
  t.deepEqual([...message.getData_asU8()], [])
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      message.setData(Buffer.from(bytes).toString('base64'))
      t.deepEqual([...message.getData_asU8()], [...bytes])
      message.setData(bytes)
      t.deepEqual([...message.getData_asU8()], [...bytes])
    }),
  )
})
