/** Characters of a response that are shown. */
const longest = 500

/** Fewer characters than these at the end of a text are not taken for the beginning of a token. */
const shortestBeginning = 4

/**
 * These replace what is not printable, and a token: no token holds either of them, so what is left can't join into one.
 */
const unprintable = '\ufffd'
const removed = '\u2026'

const decoder = new TextDecoder()

/** The beginning of a response's body, made printable, without the token wherever the receiver sent it back. */
export const excerptOf = (body: Uint8Array, token: string): string => {
  if (body.length === 0) return ''
  const forms = formsOf(token)
  const text = decoder.decode(body)
  const printable = forms
    .reduce((rest, form) => rest.replaceAll(form, removed), text)
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, unprintable)
    .trim()
  // Not half of a character that takes two.
  const shown = printable.slice(0, longest).replace(/[\ud800-\udbff]$/, '')
  const cut = Math.max(...forms.map((form) => beginningAtEnd(shown, form)))
  return cut < shortestBeginning ? shown : shown.slice(0, -cut) + removed
}

/** The token as it is, and as JSON and a URL spell it, longest first. */
const formsOf = (token: string): ReadonlyArray<string> => {
  const json = JSON.stringify(token).slice(1, -1)
  const forms = [token, json, json.replaceAll('/', '\\/'), encodeURIComponent(token)]
  return [...new Set(forms)].sort((one, other) => other.length - one.length)
}

/** How many characters at the end of a text are the beginning of a token whose rest did not come. */
const beginningAtEnd = (text: string, token: string): number => {
  let length = Math.min(token.length - 1, text.length)
  while (length > 0 && !text.endsWith(token.slice(0, length))) length -= 1
  return length
}
