import type { LookupAddress } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** What the hosts file of this machine says about a name. */
export const hostsFile =
  (path = '/etc/hosts') =>
  async (name: string): Promise<ReadonlyArray<LookupAddress>> => {
    const text = await readFile(path, 'utf8').catch(() => '')
    return text.split('\n').flatMap((line) => {
      const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
      return isIP(address) !== 0 && names.includes(name) ? [{ address, family: isIP(address) }] : []
    })
  }
