import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Special addresses that ipaddr.js takes for ordinary ones. */
const moreSpecialRanges: Readonly<Record<string, ReadonlyArray<string>>> = {
  // IANA gives out global unicast addresses of 2000::/3 only. Beyond it ipaddr.js misses, among others, the
  // IPv4-compatible addresses (::/96) and the dummy prefix (100:0:0:1::/64).
  outsideGlobalUnicast: ['::/3', '4000::/2', '8000::/1'],
  returned6bone: ['3ffe::/16'],
  // It looks public and is, from within Azure, the agent of the machine's host.
  azureHostAgent: ['168.63.129.16/32'],
}

/** Each stands for the IPv4 address in its last 32 bits, and leads there. */
const ipv4Carriers: Readonly<Record<string, ReadonlyArray<string>>> = {
  ipv4Mapped: ['::ffff:0:0/96'],
  nat64: ['64:ff9b::/96'],
}

const isIn = (ranges: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const all = Object.values(ranges)
    .flat()
    .map((range) => ipaddr.parseCIDR(range))
  return (address: Address): boolean =>
    all.some(([first, bits]) => first.kind() === address.kind() && address.match(first, bits))
}
const isMoreSpecial = isIn(moreSpecialRanges)
const isIpv4Carrier = isIn(ipv4Carriers)

/** Whether an address lies on the public internet: not private, loopback, link-local or otherwise special. */
export const isPublicAddress = (address: string): boolean => {
  // An address with a zone belongs to one link, and one that only ipaddr.js can parse can't be connected to.
  if (isIP(address) === 0 || address.includes('%')) return false
  return isPublic(ipaddr.parse(isIP(address) === 6 ? inHexadecimal(address) : address))
}

/** In this form ipaddr.js does not take `::8.8.8.8` for the IPv4-mapped address `::ffff:8.8.8.8`. */
const inHexadecimal = (ipv6: string): string => new URL(`http://[${ipv6}]`).hostname.slice(1, -1)

const isPublic = (address: Address): boolean => {
  if (isIpv4Carrier(address)) return isPublic(innerIpv4(address))
  if (address.range() !== 'unicast' || isMoreSpecial(address)) return false
  return !isIsatap(address) || isPublic(innerIpv4(address))
}

const innerIpv4 = (address: Address): Address => new ipaddr.IPv4(address.toByteArray().slice(-4))

/** RFC 5214: the interface identifier is 0:5efe or 200:5efe, then an IPv4 address, after any prefix. */
const isIsatap = (address: Address): boolean => {
  if (!(address instanceof ipaddr.IPv6)) return false
  const [, , , , fifth = 0, sixth] = address.parts
  return (fifth & 0xfcff) === 0 && sixth === 0x5efe
}
