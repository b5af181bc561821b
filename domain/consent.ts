import { fromText } from './codec.js'
import type { FollowUp } from './follow-up.js'
import { hostOf, urlFromText, webAddressFromText, withoutFinalDot } from './web-address.js'

/** The fields of a lead that prove its consent. They are of the lead, and not kept with its contact. */
export const consentFields = ['tcpa_opt_in_token', 'tcpa_opt_in_url'] as const

/**
 * The hosts on which an account accepts proofs of consent, as URLs spell them, some of older versions with a final dot;
 * null: any.
 */
export type AcceptedHosts = ReadonlyArray<string> | null

/** Of one account, so that an event that lists them stays small. */
export const mostConsentHosts = 100

/** The name of a host, without a scheme, a port, a path and a final dot, as a URL spells it. */
export const ConsentHost = fromText(
  'the name of a host, such as cert.example.com',
  (text) => hostFrom(text.trim()),
  (value): value is string => typeof value === 'string' && hostFrom(value) === value,
)

const hostFrom = (text: string): string | undefined => {
  if (!/^[\p{L}\p{N}.-]{1,253}$/u.test(text)) return undefined
  const url = urlFromText(`https://${text}`)
  const host = url && withoutFinalDot(hostOf(url))
  return host === '' ? undefined : host
}

/**
 * How the consent of a lead stands when it comes (contract 4.6.1): the URL of its proof must be of a host that the
 * account accepts, and what else there is to verify a service is asked, where the settings name one. Undefined: nothing
 * more is asked.
 */
export const consentOnArrival = (
  { tcpa_opt_in_url }: { readonly tcpa_opt_in_url: string },
  accepted: AcceptedHosts,
  asksService: boolean,
): FollowUp['consent'] => {
  const url = webAddressFromText(tcpa_opt_in_url)
  const host = url && withoutFinalDot(hostOf(url))
  if (accepted !== null && !accepted.some((one) => withoutFinalDot(one) === host)) return 'refused'
  return asksService ? 'awaited' : undefined
}
