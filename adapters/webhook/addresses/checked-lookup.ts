import type { LookupFunction } from 'node:net'
import { ForbiddenAddress } from './forbidden-address.js'
import { isPublicAddress } from './public-address.js'
import type { Resolve } from './resolve.js'

/**
 * The look-up of a name for a connection. The addresses are checked here and not before, so that a name that leads
 * elsewhere since it was saved (DNS rebinding) gains nothing.
 */
export const checkedLookup =
  (resolve: Resolve, allowPrivate: boolean, onResolved: () => void): LookupFunction =>
  (hostname, { all }, answer) => {
    const lookUp = async (): Promise<void> => {
      const addresses = await resolve(hostname)
      const [first] = addresses
      if (first === undefined) throw noAddress()
      if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) throw new ForbiddenAddress()
      onResolved()
      if (all === true) answer(null, [...addresses])
      else answer(null, first.address, first.family)
    }
    lookUp().catch((error: unknown) => answer(error as NodeJS.ErrnoException, ''))
  }

const noAddress = (): Error => Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' })
