import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

/** Whoever signs certificates, in PEM. */
type Authority = { readonly name: string; readonly privateKey: KeyObject; readonly certificate: string }

/** What a server shows and proves, in PEM. */
type Identity = { readonly cert: string; readonly key: string }

type Asked = {
  readonly hosts: ReadonlyArray<string>
  readonly from?: string
  readonly to?: string
}

const longAgo = '20000101000000Z'
const longFromNow = '20990101000000Z'

/** One element of DER: tag, length, content. */
const tlv = (tag: number, ...contents: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}
const sequence = (...contents: ReadonlyArray<Uint8Array>): Buffer => tlv(0x30, ...contents)
const text = (tag: number, value: string): Buffer => tlv(tag, Buffer.from(value, 'latin1'))
const identifier = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'))
const bits = (value: Uint8Array): Buffer => tlv(0x03, Buffer.from([0]), value)

const commonName = identifier('550403')
const subjectAltName = identifier('551d11')
const basicConstraints = identifier('551d13')
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'))

const named = (name: string): Buffer => sequence(tlv(0x31, sequence(commonName, text(0x0c, name))))

const hostName = (host: string): Buffer =>
  isIP(host) === 4 ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : text(0x82, host)

const extension = (name: Buffer, value: Buffer): Buffer => sequence(name, tlv(0x04, value))

const pem = (content: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(content).toString('base64')}\n-----END CERTIFICATE-----\n`

const certificate = (
  subject: string,
  publicKey: KeyObject,
  issuer: Pick<Authority, 'name' | 'privateKey'>,
  validity: readonly [string, string],
  extensions: ReadonlyArray<Buffer>,
): string => {
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const serial = createHash('sha256').update(spki).digest().subarray(0, 8)
  const toSign = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1]), serial),
    ecdsaWithSha256,
    named(issuer.name),
    sequence(...validity.map((instant) => text(0x18, instant))),
    named(subject),
    spki,
    tlv(0xa3, sequence(...extensions)),
  )
  return pem(sequence(toSign, ecdsaWithSha256, bits(sign('sha256', toSign, issuer.privateKey))))
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

export const newAuthority = (name: string): Authority => {
  const { publicKey, privateKey } = newKeys()
  const isAuthority = extension(basicConstraints, sequence(tlv(0x01, Buffer.from([0xff]))))
  return {
    name,
    privateKey,
    certificate: certificate(name, publicKey, { name, privateKey }, [longAgo, longFromNow], [isAuthority]),
  }
}

/** Signed by an authority, or by itself. */
export const newIdentity = (
  { hosts, from = longAgo, to = longFromNow }: Asked,
  authority: Authority | undefined,
): Identity => {
  const { publicKey, privateKey } = newKeys()
  const subject = hosts[0] ?? 'nobody'
  const alternatives = extension(subjectAltName, sequence(...hosts.map(hostName)))
  const issuer = authority ?? { name: subject, privateKey }
  return {
    cert: certificate(subject, publicKey, issuer, [from, to], [alternatives]),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
