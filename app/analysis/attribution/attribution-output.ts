import { stringify } from 'csv-stringify/sync'
import type { AttributionGrouping } from './attribution-query.js'

export const attributionFormats = ['table', 'csv', 'json'] as const
export type AttributionFormat = (typeof attributionFormats)[number]

/** What the query gives for one key; undefined figures are null. */
export type AttributionRow = {
  readonly key: string
  readonly title: string | null
  readonly leads: bigint
  readonly conversions: bigint
  /** An exact decimal with six places. */
  readonly credit: string
  readonly value_cents: bigint
  readonly cost_cents: bigint | null
  readonly contacts: bigint
  readonly converted: bigint
  readonly rate: number | null
  readonly rate_low: number | null
  readonly rate_high: number | null
  readonly median_minutes_to_sale: number | null
  readonly p90_minutes_to_sale: number | null
  readonly leads_contacted: bigint
  readonly leads_called: bigint
  readonly median_minutes_to_first_contact: number | null
  readonly p90_minutes_to_first_contact: number | null
  readonly leads_messaged: bigint
  readonly leads_replied: bigint
  readonly reply_rate: number | null
  readonly leads_opted_out: bigint
  readonly opt_out_rate: number | null
  readonly median_minutes_to_first_reply: number | null
  readonly p90_minutes_to_first_reply: number | null
}

export const attributionText = (
  rows: ReadonlyArray<AttributionRow>,
  format: AttributionFormat,
  by: AttributionGrouping,
): string => {
  switch (format) {
    case 'json':
      return rows.length === 0 ? '[]\n' : `[\n${rows.map(jsonOf).join(',\n')}\n]\n`
    case 'csv':
      return stringify([...rows], { header: true, columns: [...columns] })
    case 'table':
      return table(rows, by)
  }
}

const columns = [
  'key',
  'title',
  'leads',
  'conversions',
  'credit',
  'value_cents',
  'cost_cents',
  'contacts',
  'converted',
  'rate',
  'rate_low',
  'rate_high',
  'median_minutes_to_sale',
  'p90_minutes_to_sale',
  'leads_contacted',
  'leads_called',
  'median_minutes_to_first_contact',
  'p90_minutes_to_first_contact',
  'leads_messaged',
  'leads_replied',
  'reply_rate',
  'leads_opted_out',
  'opt_out_rate',
  'median_minutes_to_first_reply',
  'p90_minutes_to_first_reply',
] as const satisfies ReadonlyArray<keyof AttributionRow>

/** By hand, since `JSON.stringify` takes no bigint. */
const jsonOf = (row: AttributionRow): string => {
  const fields = columns.map((name) => {
    const value = row[name]
    return `"${name}": ${typeof value === 'bigint' ? value : JSON.stringify(value)}`
  })
  return `  { ${fields.join(', ')} }`
}

type TableColumn = readonly [heading: string, cell: (row: AttributionRow) => string]

export const money = (cents: bigint | null): string =>
  cents === null ? '' : `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`

export const percent = (share: number | null): string => (share === null ? '' : (share * 100).toFixed(1))

export const duration = (minutes: number | null): string => {
  if (minutes === null) return ''
  if (minutes < 60) return `${minutes.toFixed(1)} min`
  return minutes < 1440 ? `${(minutes / 60).toFixed(1)} h` : `${(minutes / 1440).toFixed(1)} d`
}

const figureColumns: ReadonlyArray<TableColumn> = [
  ['leads', ({ leads }) => String(leads)],
  ['conversions', ({ conversions }) => String(conversions)],
  ['credit', ({ credit }) => credit],
  ['value', ({ value_cents }) => money(value_cents)],
  ['cost', ({ cost_cents }) => money(cost_cents)],
  ['contacts', ({ contacts }) => String(contacts)],
  ['converted', ({ converted }) => String(converted)],
  ['rate %', ({ rate }) => percent(rate)],
  ['95 %', ({ rate_low, rate_high }) => (rate_low === null ? '' : `${percent(rate_low)}-${percent(rate_high)}`)],
  ['to sale', ({ median_minutes_to_sale }) => duration(median_minutes_to_sale)],
  ['p90', ({ p90_minutes_to_sale }) => duration(p90_minutes_to_sale)],
  ['contacted', ({ leads_contacted }) => String(leads_contacted)],
  ['to contact', ({ median_minutes_to_first_contact }) => duration(median_minutes_to_first_contact)],
  ['p90', ({ p90_minutes_to_first_contact }) => duration(p90_minutes_to_first_contact)],
  ['messaged', ({ leads_messaged }) => String(leads_messaged)],
  ['replied %', ({ reply_rate }) => percent(reply_rate)],
  ['opted out %', ({ opt_out_rate }) => percent(opt_out_rate)],
  ['to reply', ({ median_minutes_to_first_reply }) => duration(median_minutes_to_first_reply)],
  ['p90', ({ p90_minutes_to_first_reply }) => duration(p90_minutes_to_first_reply)],
]

/** A control character in a title could write over the terminal. */
const printable = (text: string): string => text.replaceAll(/\p{C}/gu, '?')

const titleColumn: TableColumn = ['title', ({ title }) => printable(title ?? '')]

/** Words begin at the left of their column, and figures end at its right. */
const table = (rows: ReadonlyArray<AttributionRow>, by: AttributionGrouping): string => {
  const words: ReadonlyArray<TableColumn> = [
    [by, ({ key }) => printable(key)],
    ...(by === 'source' ? [titleColumn] : []),
  ]
  const shown = [...words, ...figureColumns]
  const lines = [shown.map(([heading]) => heading), ...rows.map((row) => shown.map(([, cell]) => cell(row)))]
  const widths = shown.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  return lines
    .map((cells) => {
      const aligned = cells.map((cell, column) => {
        const width = widths[column] ?? 0
        return column < words.length ? cell.padEnd(width) : cell.padStart(width)
      })
      return `${aligned.join('  ').trimEnd()}\n`
    })
    .join('')
}
