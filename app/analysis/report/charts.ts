import type { TopLevelSpec } from 'vega-lite'

/** The one colour of all bars: what is compared differs by its place, its shape and its label. */
const bar = '#4c7fa6'
const ink = '#333333'

/** Room in pixels that a bar's label needs. */
const labelRoom = 56

/** Bars, or points, of rows from top to bottom; they stand in the order that they are given in. */
const rowsOf = (field: string) => ({ field, type: 'nominal', sort: null, title: null }) as const

/** An axis that its labels make needless; the scale ends `room` pixels before the panel does. */
const unmarked = (field: string, width: number, most: number, room = labelRoom) => ({
  field,
  type: 'quantitative' as const,
  axis: null,
  scale: { domain: [0, (Math.max(most, 1) * width) / (width - room)], nice: false },
})

const labels = { type: 'text', align: 'left', dx: 4 } as const

const greatest = (values: ReadonlyArray<number>): number => values.reduce((most, one) => Math.max(most, one), 0)

/**
 * Adds the number of its panel to each value, so that panels stand in the order of the values. Sorting by names would
 * be an expression.
 */
const ordered = <Value>(values: ReadonlyArray<Value>, panelOf: (value: Value) => string) => {
  const panels = [...new Set(values.map(panelOf))]
  return values.map((value) => ({ ...value, order: panels.indexOf(panelOf(value)) }))
}

const facetOf = (field: string) => ({ field, type: 'nominal', sort: { field: 'order', op: 'min' } }) as const

/** A value of a panel from one day until before another. */
type PanelValue = { readonly panel: string; readonly since: string; readonly until: string; readonly value: number }

/** Dates on the axis of time. */
const dates = 6

/** Every so many-th of the days, or weeks, that are drawn, in milliseconds. */
const datesOf = (values: ReadonlyArray<PanelValue>): Array<number> => {
  const days = [...new Set(values.map(({ since }) => since))]
  return days.filter((_, n) => n % Math.ceil(days.length / dates) === 0).map((day) => Date.parse(day))
}

/** Bars along the time, a panel below another for each name, all to one scale. */
export const timeChart = (values: ReadonlyArray<PanelValue>, axis: string): TopLevelSpec => ({
  data: { values: ordered(values, ({ panel }) => panel) },
  facet: { row: { ...facetOf('panel'), header: { title: null, labelOrient: 'top', labelAnchor: 'start' } } },
  spacing: 14,
  spec: {
    width: 600,
    height: 48,
    // Not `bar`: with an end on the axis of time, Vega-Lite no longer begins it at 0.
    mark: { type: 'rect', color: bar, stroke: 'white', strokeWidth: 0.5 },
    encoding: {
      x: {
        field: 'since',
        type: 'temporal',
        scale: { type: 'utc' },
        axis: {
          title: null,
          format: '%-d %b %Y',
          values: datesOf(values),
          labelFlush: false,
          labelOverlap: 'greedy',
          grid: false,
        },
      },
      x2: { field: 'until' },
      y: {
        field: 'value',
        type: 'quantitative',
        axis: { title: axis, tickCount: 2, format: 'd', titleFontWeight: 'normal' },
      },
      y2: { datum: 0 },
    },
  },
})

type RankedValue = { readonly row: string; readonly value: number; readonly label: string }

/** A bar for each row, with its label. */
export const rankedChart = (values: ReadonlyArray<RankedValue>): TopLevelSpec => {
  const width = 440
  const x = unmarked('value', width, greatest(values.map(({ value }) => value)), 100)
  return {
    data: { values: [...values] },
    width,
    height: { step: 22 },
    encoding: { y: rowsOf('row'), x },
    layer: [{ mark: { type: 'bar', color: bar } }, { mark: labels, encoding: { text: { field: 'label' } } }],
  }
}

export type GridValue = RankedValue & { readonly column: string }

/** A bar for each row in each column, all to one scale, with its label. */
export const gridChart = (values: ReadonlyArray<GridValue>): TopLevelSpec => {
  const width = 112
  return {
    data: { values: ordered(values, ({ column }) => column) },
    facet: { column: { ...facetOf('column'), header: { title: null } } },
    spacing: 12,
    spec: {
      width,
      height: { step: 22 },
      encoding: { y: rowsOf('row'), x: unmarked('value', width, greatest(values.map(({ value }) => value))) },
      layer: [{ mark: { type: 'bar', color: bar } }, { mark: labels, encoding: { text: { field: 'label' } } }],
    },
  }
}

type RateValue = {
  readonly row: string
  readonly contacts: number
  readonly contactsLabel: string
  /** From 0 to 1. */
  readonly rate: number
  readonly low: number
  readonly high: number
  readonly rateLabel: string
}

/** How many contacts each row has, and beside it their rate with its interval. */
export const rateChart = (values: ReadonlyArray<RateValue>): TopLevelSpec => {
  const width = 180
  const contacts = unmarked('contacts', width, greatest(values.map((one) => one.contacts)))
  const step = 24
  return {
    data: { values: [...values] },
    spacing: 24,
    hconcat: [
      {
        title: 'Contacts',
        width,
        height: { step },
        encoding: { y: rowsOf('row'), x: contacts },
        layer: [
          { mark: { type: 'bar', color: bar } },
          { mark: labels, encoding: { text: { field: 'contactsLabel' } } },
        ],
      },
      {
        title: 'Share that bought, and its 95 % interval',
        width: 320,
        height: { step },
        encoding: { y: { ...rowsOf('row'), axis: null } },
        layer: [
          {
            mark: { type: 'rule', color: ink },
            encoding: {
              x: {
                field: 'low',
                type: 'quantitative',
                axis: { title: null, format: '.0%', tickCount: 5 },
                scale: { domain: [0, Math.min(1, Math.max(0.05, greatest(values.map(({ high }) => high)) * 1.05))] },
              },
              x2: { field: 'high' },
            },
          },
          {
            mark: { type: 'point', filled: true, size: 55, opacity: 1, color: ink },
            encoding: { x: { field: 'rate', type: 'quantitative' } },
          },
          {
            mark: { type: 'text', dy: -8, fontSize: 10 },
            encoding: { x: { field: 'rate', type: 'quantitative' }, text: { field: 'rateLabel' } },
          },
        ],
      },
    ],
  }
}

export type DurationValue = {
  readonly row: string
  readonly measure: 'median' | 'p90'
  readonly minutes: number
  readonly label: string
}

/** Marks of an axis of minutes. */
const ticks = [
  [1 / 60_000, '1 ms'],
  [1 / 6_000, '10 ms'],
  [1 / 600, '0.1 s'],
  [1 / 60, '1 s'],
  [1 / 6, '10 s'],
  [1, '1 min'],
  [5, '5 min'],
  [15, '15 min'],
  [60, '1 h'],
  [240, '4 h'],
  [1_440, '1 d'],
  [10_080, '7 d'],
] as const

/** Shorter durations are drawn as this one. */
const leastMinutes = ticks[0][0]

const tickLabel = `${ticks.map(([minutes, label]) => `abs(datum.value / ${minutes} - 1) < 0.01 ? '${label}' : `).join('')}''`

/** Two durations of each row on a logarithmic scale, told apart by their shapes and by where their labels stand. */
export const durationChart = (values: ReadonlyArray<DurationValue>): TopLevelSpec => {
  const drawn = values.map((one) => ({ ...one, minutes: Math.max(one.minutes, leastMinutes) }))
  const least = Math.min(...drawn.map(({ minutes }) => minutes)) / 2
  const most = Math.max(...drawn.map(({ minutes }) => minutes)) * 2
  const marks = ticks.flatMap(([minutes]) => (minutes >= least && minutes <= most ? minutes : []))
  const x = {
    field: 'minutes',
    type: 'quantitative' as const,
    scale: { type: 'log' as const, domain: [least, most], nice: false },
    axis: { title: null, values: marks, labelExpr: tickLabel },
  }
  return {
    data: { values: drawn },
    title: 'Median ● above, 90th percentile ◇ below',
    width: 480,
    height: { step: 36 },
    encoding: { y: rowsOf('row'), x },
    layer: [
      {
        transform: [{ filter: "datum.measure === 'median'" }],
        layer: [
          { mark: { type: 'point', size: 70, opacity: 1, color: ink, fill: ink } },
          { mark: { type: 'text', dy: -12, fontSize: 10 }, encoding: { text: { field: 'label' } } },
        ],
      },
      {
        transform: [{ filter: "datum.measure === 'p90'" }],
        layer: [
          { mark: { type: 'point', shape: 'diamond', size: 90, opacity: 1, color: ink } },
          { mark: { type: 'text', dy: 13, fontSize: 10 }, encoding: { text: { field: 'label' } } },
        ],
      },
    ],
  }
}
