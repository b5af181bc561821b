import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { hostsFile } from './hosts-file.js'
import { isLocalName } from './local-name.js'
import { nameServers } from './name-servers.js'

/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<LookupAddress>>

/** Who knows names; `local` is asked for those that mean something here only. */
export type Sources = { readonly local: Resolve; readonly hosts: Resolve; readonly servers: Resolve }

const system: Sources = {
  local: (name) => lookup(name, { all: true }),
  hosts: hostsFile(),
  servers: nameServers(),
}

/**
 * The hosts file goes first, then the name servers. Not the look-up of the system, but for local names: libuv lets it have two
 * threads, each of which a name whose servers keep silent holds for many seconds, and all others would wait behind it. A
 * name is asked for only once, by however many attempts. Nothing is kept once the answer is there.
 */
export const systemResolve = ({ local, hosts, servers }: Sources = system): Resolve => {
  const asked = new Map<string, Promise<ReadonlyArray<LookupAddress>>>()

  const ask: Resolve = async (hostname) => {
    const name = hostname.replace(/\.+$/, '')
    if (isLocalName(name)) return local(hostname)
    const known = await hosts(name)
    return known.length > 0 ? known : servers(hostname)
  }

  return (hostname) => {
    const known = asked.get(hostname)
    if (known !== undefined) return known
    const answer = ask(hostname).finally(() => asked.delete(hostname))
    asked.set(hostname, answer)
    return answer
  }
}
