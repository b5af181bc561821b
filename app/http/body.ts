import bodyParser from 'koa-bodyparser'
import type { Middleware } from 'koa'
import { E, type Either } from '../../domain/prelude.js'
import type { Problem } from '../problem.js'

/** Bodies up to 100 kB (design, section 7). */
const limit = '100kb'

/**
 * Reads JSON and form bodies. A form keeps its field names as they are: brackets and dots mean nothing here, and a name
 * that comes twice is kept as a list.
 */
export const readBody = (bodies: ReadonlyArray<'json' | 'form'>): Middleware => {
  const options = {
    enableTypes: [...bodies],
    jsonLimit: limit,
    formLimit: limit,
    qs: { parse: formFields },
  }
  return bodyParser(options)
}

const formFields = (text: string): Readonly<Record<string, unknown>> => {
  const fields = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : [before, value].flat())
  }
  return Object.fromEntries(fields)
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

/** Whether a body of this type can be read at all; requests without one pass. */
export const checkType = (
  contentType: string | undefined,
  hasBody: boolean,
  bodies: ReadonlyArray<'json' | 'form'>,
): Either<Problem, undefined> => {
  if (!hasBody) return E.right(undefined)
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  const isRead =
    (bodies.includes('json') && type === 'application/json') ||
    (bodies.includes('form') && type === 'application/x-www-form-urlencoded')
  if (isRead) return E.right(undefined)
  return E.left(
    bodies.includes('form')
      ? { kind: 'unsupported-media-type' }
      : { kind: 'invalid', messages: ['Content-Type must be application/json'] },
  )
}
