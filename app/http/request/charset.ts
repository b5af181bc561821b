import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'

type Charset = 'utf-8' | 'windows-1252'

/**
 * UTF-8 where `Content-Type` names none; undefined: one that is not read. By the names of the Encoding Standard, for
 * which ISO-8859-1 and ASCII are windows-1252.
 */
export const charsetIn = (headers: IncomingHttpHeaders): Charset | undefined => {
  const named = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/i.exec(headers['content-type'] ?? '')
  const label = (named?.[1] ?? named?.[2] ?? 'utf-8').toLowerCase()
  if (label === 'utf-8') return label
  try {
    const { encoding } = new TextDecoder(label)
    return encoding === 'utf-8' || encoding === 'windows-1252' ? encoding : undefined
  } catch {
    return undefined
  }
}

/** What windows-1252 has from 0x80 to 0x9f, where ISO-8859-1 has control characters. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Many who name another charset send UTF-8 all the same, so what can be UTF-8 is; all else is windows-1252. */
export const textOf = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString('utf8')
    : bytes.toString('latin1').replace(/[\x80-\x9f]/g, (byte) => windows1252.charAt(byte.charCodeAt(0) - 0x80))
