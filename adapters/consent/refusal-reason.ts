/** Characters of a reason that are looked at. */
const longest = 200

/**
 * What a service says of a refusal, made fit to be stored for good and posted to webhooks: it may repeat whatever it
 * was asked, and may know the person's name. So of it only these words are kept, which say nothing of a person, and the
 * rest becomes an ellipsis. Undefined where nothing is left.
 */
export const refusalReason = (text: string): string | undefined => {
  const parts = text
    .slice(0, longest)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
    .map((part) => (words.has(part) ? part : removed))
  const shown = parts.filter((part, index) => part !== removed || parts[index - 1] !== removed)
  return shown.some((part) => part !== removed) ? shown.join(' ') : undefined
}

const removed = '…'

const words: ReadonlySet<string> = new Set(
  (
    'a an and another any at be been before belongs by can cannot could did differs different do does for from given had ' +
    'has have in is it its known longer match matched matches matching mismatch missing must no not of older on one ' +
    'only or other out over than that the this to too two under until used was were with within without wrong yet ' +
    'account address age agreed already ambiguous bad banned blank blocked blocklisted certificate certification claimed ' +
    'company consent consents consumer contact contacted country date days declined denied detected disabled disclosure ' +
    'duplicate email empty error exist exists expired expiry failed fake false fingerprint form forged format found ' +
    'fraud fraudulent host hour hours id incomplete insufficient invalid issued language lead list litigator malformed ' +
    'minute minutes month months mobile number old opt opted optin optout partial party person phone policy present ' +
    'proof provided provider record recorded refused rejected replayed required reused revoked score seller seen sender ' +
    'session signature site source state submission submitted suspicious suspended tampered tcpa text time timestamp token ' +
    'true type unauthorized unavailable unconfirmed unknown unmatched unreadable unsigned unsupported unverified url user ' +
    'valid value vendor verification verified verify version visible withdrawn year years'
  ).split(' '),
)
