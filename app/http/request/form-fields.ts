import { textOf } from './charset.js'

/** Of a form in any charset, one character for each byte. */
export const formFieldsOfBytes = (bytes: string): Readonly<Record<string, unknown>> =>
  formFields(withUtf8Escapes(textOf(Buffer.from(bytes, 'latin1'))))

/** The bytes that are escaped are read as all others are. */
const withUtf8Escapes = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (escaped) =>
    encodeURIComponent(textOf(Buffer.from(escaped.replaceAll('%', ''), 'hex'))),
  )

/** Names stand as they were sent; a name that comes twice becomes a list. */
export const formFields = (text: string): Readonly<Record<string, unknown>> => {
  const fields = new Map<string, string | Array<string>>()
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name)
    if (Array.isArray(before)) before.push(value)
    else fields.set(name, before === undefined ? value : [before, value])
  }
  return Object.fromEntries(fields)
}
