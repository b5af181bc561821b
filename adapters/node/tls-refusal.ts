/**
 * What the TLS of Node says of the other side, in the message of an error; a driver takes it for a server that is away.
 * Whole phrases of OpenSSL, since the name of a host, which stands in a message too, may hold the word.
 */
const refusals: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /alert (bad certificate|unsupported certificate|certificate (required|revoked|expired|unknown)|unknown ca)/i,
    'asks for a certificate of this process, or does not trust the one that it is shown',
  ],
  [
    /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate|(invalid CA|unsuitable) certificate|certificate (has expired|is not yet valid|signature failure|revoked|chain too long|not trusted|rejected)|certificate's altnames/i,
    'shows a certificate that is not trusted here',
  ],
  [/wrong version number/i, 'does not speak TLS'],
]

/** What the server does, where that is why no connection comes about until somebody changes it. */
export const tlsRefusal = (message: string): string | undefined =>
  refusals.find(([pattern]) => pattern.test(message))?.[1]
