import { isIP } from 'node:net'
import type { MonotonicClock } from '../../../domain/ports.js'
import { withinLimit } from '../../../domain/abortable.js'
import { hostOf, webAddressFromText, withoutFinalDot } from '../../../domain/web-address.js'
import { monotonicClock } from '../../node/monotonic-clock.js'
import { isPublicAddress } from './public-address.js'
import { isLocalName } from './local-name.js'
import { systemResolve, type Resolve } from './resolve.js'

/** Milliseconds that the look-up of a name may take: whoever saves a webhook waits for it. */
const longestLookup = 3_000

const system = systemResolve()

/**
 * Why a URL can't be a webhook's; undefined when it can. A name that does not resolve yet is left to the first attempt.
 */
export const webhookUrlProblem = async (
  text: string,
  allowPrivate: boolean,
  resolve: Resolve = system,
  monotonic: MonotonicClock = monotonicClock,
): Promise<string | undefined> => {
  const url = webAddressFromText(text)
  if (url === undefined) return 'must be an http or https URL'
  if (url.username !== '' || url.password !== '') return 'must not hold credentials'
  if (allowPrivate || (await isPublicHost(withoutFinalDot(hostOf(url)), resolve, monotonic))) return undefined
  return 'must not lead to a private address'
}

const isPublicHost = async (host: string, resolve: Resolve, monotonic: MonotonicClock): Promise<boolean> => {
  if (isIP(host) !== 0) return isPublicAddress(host)
  if (isLocalName(host)) return false
  const addresses = await resolvedInTime(host, resolve, monotonic)
  return addresses.every(({ address }) => isPublicAddress(address))
}

const resolvedInTime = async (host: string, resolve: Resolve, monotonic: MonotonicClock): ReturnType<Resolve> => {
  try {
    return (await withinLimit(monotonic, longestLookup, () => resolve(host))) ?? []
  } catch {
    return []
  }
}
