import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** What is known about a name; `fails` is a response code (RFC 1035, section 4.1.1). */
type NameRecord = { readonly ipv4?: string; readonly ipv6?: string; readonly fails?: number }

type NameServer = {
  /** As `Resolver.setServers` takes it. */
  readonly address: string
  readonly close: () => void
}

const [typeA, typeAaaa] = [1, 28]
const noSuchName = 3
/** A response, with what was asked for in it; the header's last three counts are for the answers. */
const responseFlags = 0x8180
const headerLength = 12

/** A name server on this machine that keeps silent about every name that begins with `silent`. */
export const openNameServer = async (names: Readonly<Record<string, NameRecord>>): Promise<NameServer> => {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionIn(query)
    if (name.startsWith('silent')) return
    const { ipv4, ipv6, fails = 0 } = names[name] ?? { fails: noSuchName }
    const data = type === typeA ? ipv4Bytes(ipv4) : type === typeAaaa ? ipv6Bytes(ipv6) : undefined
    const header = Buffer.alloc(headerLength)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(responseFlags | fails, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(data === undefined ? 0 : 1, 6)
    const answer = data === undefined ? [] : [recordOf(type, data)]
    socket.send(Buffer.concat([header, query.subarray(headerLength, end), ...answer]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() }
}

/** Labels, each after its length, then the type and the class (RFC 1035, section 4.1.2). */
const questionIn = (query: Buffer): { readonly name: string; readonly type: number; readonly end: number } => {
  const labels: Array<string> = []
  let at = headerLength
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The name of the question, type, class, no time to live, length, data (RFC 1035, section 4.1.3). */
const recordOf = (type: number, data: Buffer): Buffer => {
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc000 | headerLength, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(data.length, 10)
  return Buffer.concat([record, data])
}

const ipv4Bytes = (address: string | undefined): Buffer | undefined =>
  address === undefined ? undefined : Buffer.from(address.split('.').map(Number))

/** Of an address whose eight groups are all there. */
const ipv6Bytes = (address: string | undefined): Buffer | undefined =>
  address === undefined
    ? undefined
    : Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
