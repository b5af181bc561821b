import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Whether Twilio signed a request with the account's token: an HMAC-SHA1 over its URL, as Twilio was told it, and the
 * names and values of its form in the order of the names, in base64.
 */
export const isSignedBy = (authToken: string, url: string, form: URLSearchParams, signature: string): boolean => {
  // In one pass: the form is anybody's, and asked by its names one by one it would be read once for each.
  const valuesOf = new Map<string, Set<string>>()
  for (const [name, value] of form) valuesOf.set(name, (valuesOf.get(name) ?? new Set()).add(value))
  const fields = [...valuesOf.keys()]
    .sort()
    .flatMap((name) => [...(valuesOf.get(name) ?? [])].sort().map((value) => `${name}${value}`))
  const given = Buffer.from(signature)
  return spellingsOf(url).some((spelling) => {
    const expected = Buffer.from(
      createHmac('sha1', authToken)
        .update([spelling, ...fields].join(''))
        .digest('base64'),
    )
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

/** Twilio may leave a port out, or name the one that the scheme has anyway. */
const spellingsOf = (url: string): ReadonlyArray<string> => {
  const [, scheme = '', host = '', rest = ''] = /^(https?):\/\/([^/?#:]+)(?::\d+)?(.*)$/.exec(url) ?? []
  return scheme === ''
    ? [url]
    : [url, `${scheme}://${host}${rest}`, `${scheme}://${host}:${scheme === 'https' ? 443 : 80}${rest}`]
}
