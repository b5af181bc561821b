/** Characters of a response that are shown. */
const longest = 500

/** Fewer characters of a token than these, at the end of a text, may be anything. */
const telling = 4

/** In place of what is not printable, and of a token: no token holds either, so nothing left over can make one up. */
const unprintable = '\ufffd'
const removed = '\u2026'

/** The beginning of a response's body, made printable, and without the token wherever the receiver sent it back. */
export const excerptOf = (body: Uint8Array, token: string): string => {
  const forms = formsOf(token)
  const text = new TextDecoder().decode(body)
  const printable = forms
    .reduce((rest, form) => rest.replaceAll(form, removed), text)
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, unprintable)
    .trim()
  // Not half of a character that takes two.
  const shown = printable.slice(0, longest).replace(/[\ud800-\udbff]$/, '')
  const cut = Math.max(...forms.map((form) => beginningAtEnd(shown, form)))
  return cut < telling ? shown : shown.slice(0, -cut) + removed
}

/** As it is, and as JSON or a URL spell it; the longest first. */
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
