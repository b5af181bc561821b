import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { sharedCalls } from '../../in-process/shared-calls.js'
import { hostsFile } from './hosts-file.js'
import { isLocalName } from './local-name.js'
import { nameServers } from './name-servers.js'

/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<LookupAddress>>

/** Where names are looked up; `local` for names that mean something on this machine or its network only. */
export type Sources = { readonly local: Resolve; readonly hosts: Resolve; readonly servers: Resolve }

const system: Sources = {
  local: (name) => lookup(name, { all: true }),
  hosts: hostsFile(),
  servers: nameServers(),
}

/**
 * The hosts file goes first, then the name servers. The look-up of the system is for local names only: libuv gives it
 * two threads, and a name whose servers do not answer blocks one of them for many seconds, while all other names wait.
 * Attempts that look up the same name at the same time share one look-up. No answer is cached.
 */
export const systemResolve = ({ local, hosts, servers }: Sources = system): Resolve => {
  const lookups = sharedCalls<ReadonlyArray<LookupAddress>>()

  const lookUp: Resolve = async (hostname) => {
    const name = hostname.replace(/\.+$/, '')
    if (isLocalName(name)) return local(hostname)
    const known = await hosts(name)
    return known.length > 0 ? known : servers(hostname)
  }

  return (hostname) => lookups(hostname, () => lookUp(hostname))
}
