import { BSON, type Document } from 'mongodb'

/** A message of MongoDB's wire protocol: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
export type Message = { readonly requestId: number; readonly responseTo: number; readonly bytes: Buffer }

const headerLength = 16
const opMsg = 2013

/** Cuts what comes over a connection into messages; what is not a whole one yet waits for the rest. */
export const messageReader = (take: (message: Message) => void): ((data: Buffer) => void) => {
  let waiting = Buffer.alloc(0)
  return (data) => {
    waiting = Buffer.concat([waiting, data])
    for (;;) {
      const length = waiting.length < headerLength ? Infinity : waiting.readInt32LE(0)
      if (waiting.length < length) return
      const bytes = waiting.subarray(0, length)
      waiting = waiting.subarray(length)
      take({ requestId: bytes.readInt32LE(4), responseTo: bytes.readInt32LE(8), bytes })
    }
  }
}

/** The document of an OP_MSG, with the lists that were sent beside it; undefined for another kind of message. */
export const documentOf = ({ bytes }: Message): Document | undefined => {
  if (bytes.readInt32LE(12) !== opMsg) return undefined
  const hasChecksum = (bytes.readUInt32LE(headerLength) & 1) === 1
  const end = bytes.length - (hasChecksum ? 4 : 0)
  let document: Document = {}
  for (let at = headerLength + 4; at < end;) {
    const kind = bytes.readUInt8(at)
    const length = bytes.readInt32LE(at + 1)
    const section = bytes.subarray(at + 1, at + 1 + length)
    document = { ...document, ...(kind === 0 ? deserialized(section) : listIn(section)) }
    at += 1 + length
  }
  return document
}

const deserialized = (bytes: Buffer): Document => BSON.deserialize(bytes, { useBigInt64: true })

const listIn = (section: Buffer): Document => {
  const nameEnd = section.indexOf(0, 4)
  const list: Array<Document> = []
  for (let at = nameEnd + 1; at < section.length; at += section.readInt32LE(at)) {
    list.push(deserialized(section.subarray(at, at + section.readInt32LE(at))))
  }
  return { [section.toString('utf8', 4, nameEnd)]: list }
}

/** The bytes of an OP_MSG that answers a message. */
export const answerWith = (document: Document, responseTo: number): Buffer => {
  const body = BSON.serialize(document)
  const head = Buffer.alloc(headerLength + 5)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(responseTo, 8)
  head.writeInt32LE(opMsg, 12)
  return Buffer.concat([head, body])
}
