import { E, type Either } from '../../../domain/prelude.js'
import { SourceId } from '../../../domain/ids.js'
import { instantFromText, type Instant } from '../../../domain/instant.js'

/**
 * What a lead of a source costs that was submitted at or after `from` and before `to`; without one of them it is open
 * there.
 */
export type CostLine = {
  readonly sourceId: string
  readonly from?: Instant
  readonly to?: Instant
  /** For one lead. */
  readonly cents: number
}

const header = 'source_id,from,to,cost_per_lead'

type Numbered = { readonly line: number; readonly cost: CostLine }

/** The lines of a file of costs in CSV. Left: one sentence that names the line and the field. */
export const costsFrom = (text: string): Either<string, ReadonlyArray<CostLine>> => {
  const [first = '', ...rest] = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (cellsOf(first).join(',') !== header) return E.left(`line 1: the header must be ${header}`)
  const read: Array<Numbered> = []
  for (const [index, row] of rest.entries()) {
    if (row.trim() === '') continue
    const line = index + 2
    const cost = costIn(cellsOf(row))
    if (E.isLeft(cost)) return E.left(`line ${line}: ${cost.left}`)
    const other = read.find((before) => overlaps(before.cost, cost.right))
    if (other !== undefined) return E.left(`line ${line}: from and to overlap with those of line ${other.line}`)
    read.push({ line, cost: cost.right })
  }
  return E.right(read.map(({ cost }) => cost))
}

/** No value that may stand here holds a comma. */
const cellsOf = (row: string): ReadonlyArray<string> =>
  row.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))

const costIn = (cells: ReadonlyArray<string>): Either<string, CostLine> => {
  const [sourceId = '', fromText = '', toText = '', centsText = ''] = cells
  if (cells.length !== 4) return E.left(`it must have the four fields ${header}`)
  if (!SourceId.is(sourceId)) return E.left(`source_id must be ${SourceId.name}`)
  const [from, to] = [instantFromText(fromText), instantFromText(toText)]
  if (fromText !== '' && from === undefined) return E.left('from must be a time in ISO 8601, or empty')
  if (toText !== '' && to === undefined) return E.left('to must be a time in ISO 8601, or empty')
  if (from !== undefined && to !== undefined && to <= from) return E.left('to must be later than from')
  if (!/^\d{1,12}$/.test(centsText)) return E.left('cost_per_lead must be a whole number of cents')
  return E.right({ sourceId, cents: Number(centsText), ...(from && { from }), ...(to && { to }) })
}

const overlaps = (one: CostLine, other: CostLine): boolean =>
  one.sourceId === other.sourceId && begins(one, other) && begins(other, one)

const begins = ({ from }: CostLine, { to }: CostLine): boolean => from === undefined || to === undefined || from < to
