import bodyParser from 'koa-bodyparser'
import type { Context } from 'koa'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { E, type Either } from '../../domain/prelude.js'
import { wellFormed } from '../../domain/well-formed.js'
import type { Request } from './endpoint.js'
import type { Problem } from './problem.js'

/** Enough for any lead, and little enough for many bodies to be in memory at once. */
const limit = '100kb'

/** Left: nobody means what is nested so deep. It throws what the parser throws: `bodyProblem`. */
export type BodyReader = (ctx: Context) => Promise<Either<Problem, unknown>>

/**
 * Reads JSON and form bodies. The field names of a form stand as they were sent: brackets and dots mean nothing here,
 * and a name that comes twice becomes a list. Texts and names are made well formed, except on a surface that takes
 * forms alone: its forms are signed as they were sent.
 */
export const bodyReaderFor = (bodies: ReadonlyArray<'json' | 'form'>): BodyReader => {
  const parsers = {
    'utf-8': bodyParser(optionsFor(bodies, 'utf-8', formFields)),
    // One character for each byte: `textOf` makes text of them.
    'windows-1252': bodyParser(optionsFor(bodies, 'latin1', formFieldsOfBytes)),
  }
  return async (ctx) => {
    const { headers } = ctx.req
    const charset = charsetIn(headers) ?? 'utf-8'
    // A middleware: it leaves the body at Koa's request and then calls what comes next, which is nothing here.
    await parsers[charset](ctx, () => Promise.resolve())
    const { body: parsed, rawBody = '' } = ctx.request as { readonly body?: unknown; readonly rawBody?: string }
    const raw = charset === 'utf-8' ? rawBody : textOf(Buffer.from(rawBody, 'latin1'))
    const body = raw === rawBody || mediaTypeIn(headers) !== 'application/json' ? parsed : (JSON.parse(raw) as unknown)
    // An empty body, or none, has no fields.
    const sent = rawBody === '' ? {} : body
    const tooDeep = depthProblem(sent)
    if (tooDeep !== undefined) return E.left(tooDeep)
    const fields = withNumbersAsSent(sent, raw, bodies.includes('form') ? isTextOfLead : isTextElsewhere)
    return E.right(bodies.includes('json') && mayBeMalformed(raw) ? wellFormed(fields) : fields)
  }
}

/** Few bodies have to be looked through: half of a surrogate pair, or NUL, comes as an escape or as it is. */
const mayBeMalformed = (raw: string): boolean => ['\\u', '%00', '\0'].some((sign) => raw.includes(sign))

const optionsFor = (
  bodies: ReadonlyArray<'json' | 'form'>,
  encoding: string,
  parse: (form: string) => Readonly<Record<string, unknown>>,
) => ({
  enableTypes: [...bodies],
  encoding,
  qs: { parse },
  // The parser alone finds no type where a tab stands in the header.
  detectJSON: ({ req }: Context) => mediaTypeIn(req.headers) === 'application/json',
  jsonLimit: limit,
  formLimit: limit,
  // What is no object is JSON all the same: endpoints say what they ask for.
  strict: false,
  // A field may have any name: none is ever looked up on a prototype.
  onProtoPoisoning: 'ignore' as const,
})

/** What windows-1252 has from 0x80 to 0x9f, where ISO-8859-1 has control characters. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Many who name another charset send UTF-8 all the same, so what can be UTF-8 is; all else is windows-1252. */
const textOf = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString('utf8')
    : bytes.toString('latin1').replace(/[\x80-\x9f]/g, (byte) => windows1252.charAt(byte.charCodeAt(0) - 0x80))

const formFieldsOfBytes = (bytes: string): Readonly<Record<string, unknown>> =>
  formFields(withUtf8Escapes(textOf(Buffer.from(bytes, 'latin1'))))

/** The bytes that are escaped are read as all others are. */
const withUtf8Escapes = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (escaped) =>
    encodeURIComponent(textOf(Buffer.from(escaped.replaceAll('%', ''), 'hex'))),
  )

const formFields = (text: string): Readonly<Record<string, unknown>> => {
  const fields = new Map<string, string | Array<string>>()
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name)
    if (Array.isArray(before)) before.push(value)
    else fields.set(name, before === undefined ? value : [before, value])
  }
  return Object.fromEntries(fields)
}

/** A text, a number or a bracket of JSON. */
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}]/g

/**
 * Whether a number becomes the text that was sent. `depth`: 1 for one that is a field. `field`: the one that it is, or
 * that it stands in.
 */
type IsText = (number: string, depth: number, field: string) => boolean

/**
 * Where a form may come as well every field is a text. A number further in is part of a field's JSON: it stays one,
 * unless JavaScript can't hold all its digits, which an id may need.
 */
const isTextOfLead: IsText = (number, depth) => (depth > 1 ? losesDigits(number) : String(Number(number)) !== number)

/** Fields that may hold anything, ids too: the properties of an activity, and a lead that is previewed. */
const openFields: ReadonlySet<string> = new Set(['"properties"', '"lead"'])

/**
 * A fraction that JavaScript would take for a whole number, which was not sent, and, in a field that may hold anything,
 * a whole number of more digits than it can hold. In any other that is refused, as a short one is where none may stand.
 */
const isTextElsewhere: IsText = (number, _depth, field) => {
  const isFraction = /\.|e-/i.test(number)
  return (isFraction ? Number.isInteger(Number(number)) : openFields.has(field)) && losesDigits(number)
}

/** A body of JSON again, `raw`, with some numbers as the text that was sent. */
const withNumbersAsSent = (body: unknown, raw: string, isText: IsText): unknown => {
  if (!hasNumber(body)) return body
  let depth = 0
  let field = ''
  const asSent = (text: string): string => {
    if (text === '{' || text === '[') depth += 1
    else if (text === '}' || text === ']') depth -= 1
    else if (!text.startsWith('"')) return isText(text, depth, field) ? `"${text}"` : text
    // Of two texts at this depth the later one is the value, behind which nothing is in the field any more.
    else if (depth === 1) field = text
    return text
  }
  const changed = raw.replace(token, asSent)
  return changed === raw ? body : JSON.parse(changed)
}

const losesDigits = (number: string): boolean => digitsOf(String(Number(number))) !== digitsOf(number)

/** Those that count, from the first to the last that is not zero. */
const digitsOf = (number: string): string | undefined => /[1-9](?:0*[1-9])*/.exec(number.replace(/\.|e.*/gi, ''))?.[0]

const hasNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && Object.values(value).some(hasNumber))

/** What the parser threw, as a problem: its own error holds the whole body. */
export const bodyProblem = (error: unknown, invalidJson: Problem): Problem | undefined => {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined
  switch (error.status) {
    case 400:
      return invalidJson
    case 413:
      return { kind: 'too-large' }
    case 415:
      return { kind: 'unsupported-media-type' }
    default:
      return undefined
  }
}

/** A media type with well-formed parameters. */
const mediaType = /^([\w.+-]+\/[\w.+-]+)(?:\s*;\s*[\w.+-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"\\]*"))*\s*;?$/

const mediaTypeOf = (contentType = ''): string | undefined => mediaType.exec(contentType.trim())?.[1]?.toLowerCase()

const mediaTypeIn = (headers: IncomingHttpHeaders): string | undefined => mediaTypeOf(headers['content-type'])

const formType = 'application/x-www-form-urlencoded'

export const isForm = ({ header }: Pick<Request, 'header'>): boolean => mediaTypeOf(header('content-type')) === formType

type Charset = 'utf-8' | 'windows-1252'

/**
 * UTF-8 where `Content-Type` names none; undefined: one that is not read. By the names of the Encoding Standard, for
 * which ISO-8859-1 and ASCII are windows-1252.
 */
const charsetIn = (headers: IncomingHttpHeaders): Charset | undefined => {
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

/** Why a body can't be read, as its headers tell; undefined for a request without a body. */
export const headerProblem = (
  headers: IncomingHttpHeaders,
  bodies: ReadonlyArray<'json' | 'form'>,
): Problem | undefined => {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) return undefined
  // A compressed body may become far larger than what was sent, and no client needs compression for 100 kB.
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    return { kind: 'compressed' }
  }
  const type = mediaTypeIn(headers)
  const isRead =
    (bodies.includes('json') && type === 'application/json') || (bodies.includes('form') && type === formType)
  if (isRead) return charsetIn(headers) === undefined ? { kind: 'unsupported-charset' } : undefined
  return bodies.includes('form')
    ? { kind: 'unsupported-media-type' }
    : { kind: 'invalid', messages: ['Content-Type must be application/json'] }
}

/** Deeper than any field that somebody means, and far from where the platform gives up. */
const mostLevels = 100

const depthProblem = (body: unknown): Problem | undefined =>
  isDeeper(body, mostLevels)
    ? { kind: 'invalid', messages: [`the body must not be nested more than ${mostLevels} levels deep`] }
    : undefined

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1)))
