import bodyParser from 'koa-bodyparser'
import type { Context } from 'koa'
import type { IncomingHttpHeaders } from 'node:http'
import { E, type Either } from '../../../domain/prelude.js'
import { wellFormed } from '../../../domain/well-formed.js'
import type { Problem } from '../problem.js'
import { charsetIn, textOf } from './charset.js'
import { formFields, formFieldsOfBytes } from './form-fields.js'
import { formType, mediaTypeIn } from './media-type.js'
import { isTextElsewhere, isTextOfLead, withNumbersAsSent } from './numbers-as-sent.js'

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
