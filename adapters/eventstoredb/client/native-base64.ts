import { createRequire } from 'node:module'

/**
 * The driver hands the bytes of an event to google-protobuf as base64, which that library decodes in JavaScript, twice
 * for each append: an eighth of what a lead cost. Node does it in native code.
 */
const requireOfDriver = createRequire(createRequire(import.meta.url).resolve('@eventstore/db-client'))
const { Message } = requireOfDriver('google-protobuf') as {
  readonly Message: { bytesAsU8: (bytes: string | Uint8Array | null) => Uint8Array | null }
}
Message.bytesAsU8 = (bytes) => (typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : bytes)
