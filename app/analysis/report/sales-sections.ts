import type { AttributionRow } from '../attribution/attribution-output.js'
import { attributionModels, type AttributionModel } from '../attribution/attribution-query.js'
import { durationChart, gridChart, rateChart, type DurationValue } from './charts.js'
import { drawn } from './drawing.js'
import { figureColumns, type Figure, type Section, type Table } from './page.js'
import type { ReportFigures } from './report-figures.js'
import {
  countText,
  intervalText,
  minutesText,
  moneyText,
  noSource,
  percentText,
  roundMoneyText,
  words,
} from './wording.js'
import { chartRowsOf } from './chart-rows.js'
import { sumOf } from './sum.js'

type Rows = ReadonlyArray<AttributionRow>
type Names = ReadonlyMap<string, string>

export const revenueSection = async (models: ReportFigures['models'], names: Names): Promise<Section> => {
  const keys = [...new Set(attributionModels.flatMap((model) => models[model].map(({ key }) => key)))]
  const sources = [...keys.filter((key) => key !== noSource), ...keys.filter((key) => key === noSource)]
  const valueOf = (model: AttributionModel, of: ReadonlyArray<string>): bigint =>
    sumOf(models[model].filter(({ key }) => of.includes(key)).map(({ value_cents }) => value_cents))
  const table: Table = {
    caption: 'Revenue in units of the currency',
    columns: [{ heading: 'source', isFigure: false }, ...figureColumns(attributionModels.map(words))],
    rows: sources.map((key) => [
      names.get(key) ?? key,
      ...attributionModels.map((model) => moneyText(valueOf(model, [key]))),
    ]),
    sums: ['all', ...attributionModels.map((model) => moneyText(valueOf(model, sources)))],
  }
  const values = chartRowsOf(sources, names).flatMap(({ name, ids }) =>
    attributionModels.map((model) => {
      const cents = valueOf(model, ids)
      return { row: name, column: words(model), value: Number(cents) / 100, label: roundMoneyText(cents) }
    }),
  )
  const isSold = models['last-touch'].some(({ conversions }) => conversions > 0n)
  return {
    title: 'Revenue by source under each model',
    text: 'The value of the sales of this range, credited to the sources of the leads that the contact had in the 90 days before; time decay halves the credit every 7 days. Each model divides the same sum.',
    figures: isSold ? [{ svg: await drawn(gridChart(values)), table }] : [],
    nothing: 'There is no sale in this range.',
  }
}

/** Of rows that have contacts, how many of these bought. */
const ratesDrawn = (rows: Rows, nameOf: (key: string) => string): Promise<string> =>
  drawn(
    rateChart(
      rows.flatMap(({ key, contacts, rate, rate_low: low, rate_high: high }) =>
        rate === null || low === null || high === null
          ? []
          : {
              row: nameOf(key),
              contacts: Number(contacts),
              contactsLabel: countText(contacts),
              rate,
              low,
              high,
              rateLabel: percentText(rate),
            },
      ),
    ),
  )

const rateColumns = figureColumns(['leads', 'contacts', 'bought', 'share', '95 % interval'])

const rateCells = ({
  leads,
  contacts,
  converted,
  rate,
  rate_low,
  rate_high,
}: AttributionRow): ReadonlyArray<string> => [
  countText(leads),
  countText(contacts),
  countText(converted),
  percentText(rate),
  intervalText(rate_low, rate_high),
]

/** Weeks that a chart has room for. */
const weeksDrawn = 26

export const cohortsSection = async (weeks: Rows): Promise<Section> => {
  const table: Table = {
    caption: 'Weeks of ISO 8601 in UTC; revenue by last touch, in units of the currency',
    columns: [
      { heading: 'week', isFigure: false },
      ...rateColumns,
      ...figureColumns(['revenue', 'median time to sale']),
    ],
    rows: weeks.map((row) => [
      row.key,
      ...rateCells(row),
      moneyText(row.value_cents),
      minutesText(row.median_minutes_to_sale),
    ]),
  }
  const withContacts = weeks.filter(({ contacts }) => contacts > 0n).slice(-weeksDrawn)
  const text =
    'The contacts who had a lead in each week, and the share of them that bought since, inside this range. The newest weeks have had the least time to.'
  return {
    title: 'Cohorts by week of the lead',
    text: weeks.length > weeksDrawn ? `${text} The chart shows the last ${weeksDrawn} weeks.` : text,
    figures: withContacts.length === 0 ? [] : [{ svg: await ratesDrawn(withContacts, (key) => key), table }],
    nothing: 'There is no lead in this range.',
  }
}

const waits: Readonly<Record<string, string>> = {
  '00:00-00:05': 'less than 5 min',
  '00:05-01:00': '5 min to 1 h',
  '01:00-24:00': '1 h to 24 h',
  '24:00-': '24 h and longer',
  never: 'never contacted',
}

export const firstContactSection = async (waited: Rows, sources: Rows, names: Names): Promise<Section> => {
  const withContacts = waited.filter(({ contacts }) => contacts > 0n)
  const waitOf = (key: string): string => waits[key] ?? key
  const rates: Table = {
    caption: 'Leads by the time until they were first called or written to',
    columns: [{ heading: 'first contact after', isFigure: false }, ...rateColumns],
    rows: withContacts.map((row) => [waitOf(row.key), ...rateCells(row)]),
  }
  const bySource = await waitBySource(sources, names)
  return {
    title: 'Time to first contact',
    text: 'How long leads waited for the first call or message, and the share of their contacts that bought.',
    figures:
      withContacts.length === 0 ? [] : [{ svg: await ratesDrawn(withContacts, waitOf), table: rates }, ...bySource],
    nothing: 'There is no lead in this range.',
  }
}

const waitBySource = async (sources: Rows, names: Names): Promise<ReadonlyArray<Figure>> => {
  const contacted = sources.filter(({ leads_contacted }) => leads_contacted > 0n)
  if (contacted.length === 0) return []
  const nameOf = (key: string): string => names.get(key) ?? key
  const values = contacted.slice(0, 8).flatMap((row): ReadonlyArray<DurationValue> => {
    const [median, p90] = [row.median_minutes_to_first_contact ?? 0, row.p90_minutes_to_first_contact ?? 0]
    return [
      { row: nameOf(row.key), measure: 'median', minutes: median, label: minutesText(median) },
      { row: nameOf(row.key), measure: 'p90', minutes: p90, label: minutesText(p90) },
    ]
  })
  const table: Table = {
    caption: 'Time from the lead to its first call or message',
    columns: [
      { heading: 'source', isFigure: false },
      ...figureColumns(['leads', 'contacted', 'median', '90th percentile']),
    ],
    rows: contacted.map((row) => [
      nameOf(row.key),
      countText(row.leads),
      countText(row.leads_contacted),
      minutesText(row.median_minutes_to_first_contact),
      minutesText(row.p90_minutes_to_first_contact),
    ]),
  }
  return [{ svg: await drawn(durationChart(values)), table }]
}
