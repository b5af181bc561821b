import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

/** Milliseconds until a name server is asked again; the second answer is waited for twice as long. */
const standardLimits = { timeout: 700, tries: 2 }

/** The codes for a name that does not exist, or has no address. */
const unknown: ReadonlyArray<unknown> = ['ENOTFOUND', 'ENODATA']

/** Asks the name servers of the system, or these. No thread waits for them, however long they take. */
export const nameServers =
  (servers?: ReadonlyArray<string>, limits = standardLimits) =>
  async (name: string): Promise<ReadonlyArray<LookupAddress>> => {
    // A new resolver reads which name servers the system has now.
    const resolver = new Resolver(limits)
    if (servers !== undefined) resolver.setServers(servers)
    const [ipv4, ipv6] = await Promise.all([answerOf(resolver.resolve4(name), 4), answerOf(resolver.resolve6(name), 6)])
    const found = [...ipv4.addresses, ...ipv6.addresses]
    if (found.length > 0) return found
    const isUnknown = [ipv4, ipv6].every(({ code }) => unknown.includes(code))
    throw Object.assign(new Error('no address is known'), { code: isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN' })
  }

type Answer = { readonly addresses: ReadonlyArray<LookupAddress>; readonly code?: string | undefined }

const answerOf = (asked: Promise<ReadonlyArray<string>>, family: 4 | 6): Promise<Answer> =>
  asked.then(
    (addresses) => ({ addresses: addresses.map((address) => ({ address, family })) }),
    (error: unknown) => ({ addresses: [], code: (error as NodeJS.ErrnoException).code }),
  )
