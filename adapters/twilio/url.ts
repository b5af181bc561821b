import { E, type Either } from '../../domain/prelude.js'
import { SenderName } from '../../domain/sender-name.js'
import { hostOf, urlFromText } from '../../domain/web-address.js'
import type { TwilioAccount } from './account.js'

/**
 * Reads `SMS_URL`: `twilio://SID:TOKEN@host?from=%2B14155550123`, or `from=MG…` for a Messaging Service; `tls=false` is
 * for a double on this machine. Left: a sentence that names the setting and its part, never the token.
 */
export const twilioAccountFrom = (text: string): Either<string, TwilioAccount> => {
  const url = urlFromText(text)
  if (url === undefined || url.protocol !== 'twilio:' || url.hostname === '') {
    return E.left('SMS_URL must be a URL like twilio://SID:TOKEN@api.twilio.com?from=%2B14155550123.')
  }
  const problem = problemOf(url)
  if (problem !== undefined) return E.left(`SMS_URL ${problem}.`)
  const isSecure = url.searchParams.get('tls') !== 'false'
  return E.right({
    baseUrl: `${isSecure ? 'https' : 'http'}://${url.host}`,
    accountSid: url.username,
    authToken: decoded(url.password) ?? '',
    sender: url.searchParams.get('from') ?? '',
  })
}

/** The first part that is wrong. */
const problemOf = (url: URL): string | undefined => {
  const { username, password, pathname, hash, searchParams } = url
  if (!/^AC[0-9a-f]{32}$/.test(username)) return 'must name the account SID before the colon: AC and 32 hex digits'
  if ((decoded(password) ?? '') === '') return 'must name the token after the colon, percent-encoded'
  if (!['', '/'].includes(pathname) || hash !== '') return 'must have nothing but a query after its host'
  const names = [...searchParams.keys()]
  if (names.some((name) => name !== 'from' && name !== 'tls')) return 'must have no query parameters but from and tls'
  if (new Set(names).size < names.length) return 'must name each query parameter once'
  if (!SenderName.is(searchParams.get('from'))) {
    return 'must name in from a number, such as %2B14155550123, or a Messaging Service: MG and 32 hex digits'
  }
  const tls = searchParams.get('tls')
  if (tls !== null && tls !== 'true' && tls !== 'false') return 'must have true or false in tls'
  if (tls === 'false' && !isThisMachine(hostOf(url))) return 'may have tls=false only for a host on this machine'
  return undefined
}

const isThisMachine = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
