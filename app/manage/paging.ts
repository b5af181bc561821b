import { E, type Either } from '../../domain/prelude.js'
import type { Cursor, Json, Query } from '../../projections/ports.js'
import type { Projection } from '../../projections/projection.js'
import type { Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import type { Queries } from '../../projections/queries.js'

type Page<Document> = { readonly documents: ReadonlyArray<Document>; readonly next_cursor: string | null }

const defaultLimit = 50
const maximalLimit = 500

/** The part of an index that is listed, and in which direction. */
type Listed = Pick<Query, 'index' | 'from' | 'upTo'> & { readonly equals: string; readonly descending: boolean }

/** A page of a list: `?limit=` (1 to 500, default 50) and `?cursor=`, as `next_cursor` of the page before gave it. */
export const pageOf = async <Document extends Json>(
  queries: Queries,
  projection: Projection<Document>,
  { index, equals, descending, ...bounds }: Listed,
  request: Request,
): Promise<Either<Problem, Page<Document>>> => {
  const limit = limitOf(request.query('limit'))
  if (limit === undefined) {
    return E.left({ kind: 'invalid', messages: [`limit must be a whole number from 1 to ${maximalLimit}`] })
  }
  const cursor = cursorFrom(request.query('cursor'))
  if (cursor === 'unreadable') return E.left({ kind: 'invalid', messages: ['cursor must be one that a page gave'] })
  const found = await queries.page(projection, {
    index,
    equals: [equals],
    limit: limit + 1,
    descending,
    ...bounds,
    ...(cursor === undefined ? {} : { after: cursor }),
  })
  if (E.isLeft(found)) return found
  const shown = found.right.slice(0, limit)
  const last = found.right.length > limit ? shown.at(-1) : undefined
  const order = projection.indexes[index]?.at(-1) ?? 'key'
  const next = last === undefined ? null : textOf({ key: last.key, value: last.document[order] as Cursor['value'] })
  return E.right({ documents: shown.map(({ document }) => document), next_cursor: next })
}

const limitOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return defaultLimit
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= maximalLimit ? limit : undefined
}

const textOf = ({ value, key }: Cursor): string => Buffer.from(JSON.stringify([value, key])).toString('base64url')

const cursorFrom = (text: string | undefined): Cursor | undefined | 'unreadable' => {
  if (text === undefined) return undefined
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(parts) || parts.length !== 2) return 'unreadable'
    const [value, key] = parts as ReadonlyArray<unknown>
    const isValue = typeof value === 'string' || typeof value === 'number'
    return isValue && typeof key === 'string' ? { value, key } : 'unreadable'
  } catch {
    return 'unreadable'
  }
}
