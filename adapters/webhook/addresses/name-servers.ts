import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

/** Milliseconds until a name server is asked once more; the second answer is waited for twice as long. */
const patience = { timeout: 700, tries: 2 }

/** Codes that say that there is no such name, or that it has no address. */
const unknown: ReadonlyArray<unknown> = ['ENOTFOUND', 'ENODATA']

/** Asks the name servers of the system, or these. However long they keep silent, no thread waits for them. */
export const nameServers =
  (servers?: ReadonlyArray<string>) =>
  async (name: string): Promise<ReadonlyArray<LookupAddress>> => {
    // Each one reads anew which name servers the system has.
    const resolver = new Resolver(patience)
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
