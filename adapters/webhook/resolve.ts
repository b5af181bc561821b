import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'

/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<LookupAddress>>

/**
 * Asks the system. Libuv asks for very few names at a time, so a name whose servers keep silent is asked for only once, by
 * however many attempts: it is not to stand in the way of all others. Nothing is kept once the answer is there.
 */
export const systemResolve = (): Resolve => {
  const asked = new Map<string, Promise<ReadonlyArray<LookupAddress>>>()
  return (hostname) => {
    const known = asked.get(hostname)
    if (known !== undefined) return known
    const answer = lookup(hostname, { all: true }).finally(() => asked.delete(hostname))
    asked.set(hostname, answer)
    return answer
  }
}
