import type { Instant } from '../../../domain/instant.js'
import { stageColumns } from './staged-rows.js'
import { columnsOf, tables, type Shown, type TableName } from './tidy-tables.js'

/** Of what was recorded up to and at `asOf`; of all where it is undefined. */
export type Asked = Shown & { readonly asOf?: Instant | undefined }

/** One part of a table's rows, from 0 on, of so many. */
type Part = { readonly part: number; readonly of: number }

/** The rows of one part of a table, in no order, over the stages in the schema `staged`. */
export const partQuery = (name: TableName, { asOf, isPersonalShown }: Asked, { part, of }: Part): string => {
  const { stages, key, sql } = tables[name]
  const recorded = asOf === undefined ? 'true' : `recorded_at <= TIMESTAMPTZ '${asOf}'`
  const views = stages.map((stage) => {
    const isParted = of > 1 && stageColumns(stage).some(([column]) => column === key)
    const inPart = isParted ? ` AND hash("${key}") % ${of} = ${part}` : ''
    return `${stage} AS NOT MATERIALIZED (FROM staged.${stage} WHERE ${recorded}${inPart})`
  })
  return `WITH ${views.join(', ')} SELECT ${columnList(name, { isPersonalShown })} FROM (${sql})`
}

/** The rows of all parts, which stand in `from`, in the order of the table. */
export const orderedQuery = (name: TableName, from: string, shown: Shown): string => {
  const keys = tables[name].order.map((column) => `"${column}"`)
  return `SELECT ${columnList(name, shown)} FROM ${from} ORDER BY ${keys.join(', ')}`
}

const columnList = (name: TableName, shown: Shown): string =>
  columnsOf(name, shown)
    .map(([column]) => `"${column}"`)
    .join(', ')
