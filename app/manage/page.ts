import { hash } from 'node:crypto'
import { E, type Either } from '../../domain/prelude.js'
import { cursorOf } from '../../projections/pages.js'
import type { Cursor, Json, Query } from '../../projections/ports.js'
import type { Projection } from '../../projections/projection.js'
import type { Queries } from '../../projections/queries.js'
import type { HasRequest, Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { bind } from '../http/steps.js'

type Page<Document> = { readonly documents: ReadonlyArray<Document>; readonly next_cursor: string | null }

const defaultLimit = 50
const mostOnPage = 500

/** The part of an index that is listed, and in which direction. `chosenBy`: what leaves some of it out afterwards. */
type Listed = Pick<Query, 'index' | 'equals' | 'from' | 'upTo'> & {
  readonly descending: boolean
  readonly chosenBy?: string | undefined
}

/**
 * Adds a `page` of a list: `?limit=` (1 to 500, default 50) and `?cursor=`, as `next_cursor` of the page before gave
 * it.
 */
export const withPage = <Context extends HasRequest, Document extends Json>(
  queries: Queries,
  projection: Projection<Document>,
  listed: (context: Context) => Listed,
) => bind('page', (context: Context) => pageOf(context.request, queries, projection, listed(context)))

const pageOf = async <Document extends Json>(
  { query }: Request,
  queries: Queries,
  projection: Projection<Document>,
  listed: Listed,
): Promise<Either<Problem, Page<Document>>> => {
  const { chosenBy: _chosenBy, ...part } = listed
  const limit = limitFrom(query('limit'))
  if (E.isLeft(limit)) return limit
  const list = listNameOf(projection, listed)
  const after = cursorFrom(query('cursor'), list)
  if (E.isLeft(after)) return after
  const found = await queries.page(projection, {
    ...part,
    limit: limit.right + 1,
    ...(after.right === undefined ? {} : { after: after.right }),
  })
  if (E.isLeft(found)) return found
  const shown = found.right.slice(0, limit.right)
  const last = found.right.length > limit.right ? shown.at(-1) : undefined
  const next_cursor = last === undefined ? null : textOf(cursorOf(projection, part.index, last), list)
  return E.right({ documents: shown.map(({ document }) => document), next_cursor })
}

const badLimit: Problem = { kind: 'invalid', messages: [`limit must be a whole number from 1 to ${mostOnPage}`] }

const limitFrom = (text: string | undefined): Either<Problem, number> => {
  if (text === undefined) return E.right(defaultLimit)
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= mostOnPage ? E.right(limit) : E.left(badLimit)
}

/** Short for a list and its filter: after the cursor of another one there may be nothing, as at the end. */
const listNameOf = (
  { name }: Pick<Projection<Json>, 'name'>,
  { index, equals, from, upTo, descending, chosenBy }: Listed,
): string => {
  const chosen = chosenBy === undefined ? [] : [chosenBy]
  const parts = [name, index, equals, from ?? null, upTo ?? null, descending, ...chosen]
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 8)
}

/** A cursor is opaque to clients. */
const textOf = ({ value, key }: Cursor, list: string): string =>
  Buffer.from(JSON.stringify([list, value, key])).toString('base64url')

const badCursor: Problem = {
  kind: 'invalid',
  messages: ['cursor must be the next_cursor of a page of the same list, with the same filter'],
}

const cursorFrom = (text: string | undefined, list: string): Either<Problem, Cursor | undefined> => {
  if (text === undefined) return E.right(undefined)
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(parts) || parts.length !== 3) return E.left(badCursor)
    const [of, value, key] = parts as ReadonlyArray<unknown>
    if (of !== list) return E.left(badCursor)
    const isValue = typeof value === 'string' || typeof value === 'number'
    return isValue && typeof key === 'string' ? E.right({ value, key }) : E.left(badCursor)
  } catch {
    return E.left(badCursor)
  }
}
