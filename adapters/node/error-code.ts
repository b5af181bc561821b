/**
 * The code of an error, such as `ECONNRESET`; undefined where it has none. Its message may hold a URL, an address or
 * what the other side sent.
 */
export const errorCodeOf = (error: unknown): string | undefined => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined
}
