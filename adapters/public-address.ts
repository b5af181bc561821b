import ipaddr from 'ipaddr.js'
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'

/** Whether an address lies on the public internet: not private, loopback, link-local or otherwise special. */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  return ipaddr.process(address).range() === 'unicast'
}

/** The host of a URL without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

type Answer = (error: NodeJS.ErrnoException | null, address: string | Array<LookupAddress>, family?: number) => void

/**
 * `dns.lookup` that answers an error when any address of the name is not public. The socket connects to what was answered
 * here, so a name that changes its mind in between gains nothing.
 */
export const publicLookup = (hostname: string, options: LookupOptions, answer: Answer): void => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const first = error === null ? addresses[0] : undefined
    if (first === undefined) answer(error ?? new Error('no address'), '')
    else if (!addresses.every(({ address }) => isPublicAddress(address))) answer(new ForbiddenAddress(), '')
    else if (options.all === true) answer(null, addresses)
    else answer(null, first.address, first.family)
  })
}

export class ForbiddenAddress extends Error {
  constructor() {
    super('the address is not public')
  }
}
