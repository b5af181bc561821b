import { durationChart, gridChart, rankedChart, timeChart, type DurationValue, type GridValue } from './charts.js'
import { drawn } from './drawing.js'
import { figureColumns, type Figure, type Section, type Table } from './page.js'
import { attemptColumns, deliveryStates, type LabelRow, type LeadsRow, type WebhookRow } from './report-figures.js'
import { chartRowsOf } from './chart-rows.js'
import { sumOf } from './sum.js'
import { countText, delayText, percentText, words } from './wording.js'

type SpanLeads = { readonly since: string; readonly until: string; readonly byName: Map<string, bigint> }

export const leadsSection = async (
  rows: ReadonlyArray<LeadsRow>,
  names: ReadonlyMap<string, string>,
): Promise<Section> => {
  const unit = rows[0]?.unit ?? 'day'
  const totals = new Map<string, bigint>()
  for (const { source_id, leads } of rows) totals.set(source_id, (totals.get(source_id) ?? 0n) + leads)
  const ordered = [...totals].toSorted(([, most], [, more]) => Number(more - most)).map(([id]) => id)
  const shown = chartRowsOf(ordered, names)
  const nameOf = new Map(shown.flatMap(({ name, ids }) => ids.map((id) => [id, name])))
  const spans = new Map<string, SpanLeads>()
  for (const { since, until, source_id, leads } of rows) {
    const span = spans.get(since) ?? { since, until, byName: new Map<string, bigint>() }
    const name = nameOf.get(source_id) ?? source_id
    span.byName.set(name, (span.byName.get(name) ?? 0n) + leads)
    spans.set(since, span)
  }
  const leadsOf = (span: SpanLeads, name: string): bigint => span.byName.get(name) ?? 0n
  const sumsOf = (some: ReadonlyArray<SpanLeads>): ReadonlyArray<string> => {
    const counts = shown.map(({ name }) => sumOf(some.map((span) => leadsOf(span, name))))
    return [...counts, sumOf(counts)].map(countText)
  }
  const all = [...spans.values()]
  const table: Table = {
    caption: `Leads by ${unit}; ${unit === 'day' ? 'days' : 'weeks, by their Mondays,'} without a lead are left out`,
    columns: [{ heading: unit, isFigure: false }, ...figureColumns([...shown.map(({ name }) => name), 'all'])],
    rows: all.map((span) => [span.since, ...sumsOf([span])]),
    sums: ['all', ...sumsOf(all)],
  }
  const values = shown.flatMap(({ name }) =>
    all.map((span) => ({ panel: name, since: span.since, until: span.until, value: Number(leadsOf(span, name)) })),
  )
  return {
    title: `Leads by ${unit} and source`,
    text: `Leads accepted in each ${unit} (UTC), a panel for each source, all to one scale.`,
    figures: rows.length === 0 ? [] : [{ svg: await drawn(timeChart(values, 'leads')), table }],
    nothing: 'There is no lead in this range.',
  }
}

export const funnelSection = async (labels: ReadonlyArray<LabelRow>, leads: bigint): Promise<Section> => {
  const shareOf = (some: bigint): string => percentText(Number(some) / Number(leads))
  const values = [{ label: 'lead accepted', leads }, ...labels].map(({ label, leads: some }) => ({
    row: words(label),
    value: Number(some),
    label: `${countText(some)} · ${shareOf(some)}`,
  }))
  const table: Table = {
    caption: 'Leads with at least one activity of the label',
    columns: [
      { heading: 'label', isFigure: false },
      { heading: 'type', isFigure: false },
      ...figureColumns(['leads', 'share of leads', 'activities']),
    ],
    rows: [
      ['lead accepted', '', countText(leads), shareOf(leads), ''],
      ...labels.map((row) => [
        words(row.label),
        row.type,
        countText(row.leads),
        shareOf(row.leads),
        countText(row.activities),
      ]),
    ],
  }
  return {
    title: 'Funnel by label',
    text: 'How far the leads of this range came: with how many of them anything of each label happened, at whatever time since.',
    figures: leads === 0n ? [] : [{ svg: await drawn(rankedChart(values)), table }],
    nothing: 'There is no lead in this range.',
  }
}

export const webhooksSection = async (webhooks: ReadonlyArray<WebhookRow>): Promise<Section> => ({
  title: 'Webhook health',
  text: 'The deliveries that were due in this range: what became of them, in how many attempts, and how long after they were due they were delivered.',
  figures: webhooks.length === 0 ? [] : [await states(webhooks), await attempts(webhooks), await delays(webhooks)],
  nothing: 'There is no delivery in this range.',
})

/** Webhooks that a chart has room for. */
const webhooksDrawn = 12

type Counts = keyof Omit<WebhookRow, 'webhook_id' | 'median_delay_ms' | 'p90_delay_ms'>

const counts = async (
  webhooks: ReadonlyArray<WebhookRow>,
  columns: ReadonlyArray<readonly [field: Counts, heading: string]>,
  caption: string,
): Promise<Figure> => {
  const values = webhooks.slice(0, webhooksDrawn).flatMap((webhook) =>
    columns.map(([field, column]): GridValue => ({
      row: webhook.webhook_id,
      column,
      value: Number(webhook[field]),
      label: countText(webhook[field]),
    })),
  )
  const table: Table = {
    caption,
    columns: [
      { heading: 'webhook', isFigure: false },
      ...figureColumns([...columns.map(([, heading]) => heading), 'deliveries']),
    ],
    rows: webhooks.map((webhook) => [
      webhook.webhook_id,
      ...columns.map(([field]) => countText(webhook[field])),
      countText(webhook.deliveries),
    ]),
  }
  return { svg: await drawn(gridChart(values)), table }
}

const isSeen =
  (webhooks: ReadonlyArray<WebhookRow>) =>
  ([field]: readonly [Counts, string]): boolean =>
    webhooks.some((webhook) => webhook[field] > 0n)

const states = (webhooks: ReadonlyArray<WebhookRow>): Promise<Figure> => {
  const columns = deliveryStates.map((state) => [state, state] as const)
  return counts(webhooks, columns.filter(isSeen(webhooks)), 'Deliveries by state')
}

const attempts = (webhooks: ReadonlyArray<WebhookRow>): Promise<Figure> =>
  counts(webhooks, attemptColumns.filter(isSeen(webhooks)), 'Deliveries by their attempts, resends among them')

const delays = async (webhooks: ReadonlyArray<WebhookRow>): Promise<Figure> => {
  const values = webhooks.slice(0, webhooksDrawn).flatMap(({ webhook_id: row, median_delay_ms, p90_delay_ms }) => {
    if (median_delay_ms === null || p90_delay_ms === null) return []
    return [
      { row, measure: 'median', minutes: median_delay_ms / 60_000, label: delayText(median_delay_ms) },
      { row, measure: 'p90', minutes: p90_delay_ms / 60_000, label: delayText(p90_delay_ms) },
    ] satisfies ReadonlyArray<DurationValue>
  })
  const table: Table = {
    caption: 'Delay from when a delivery was due until it was delivered',
    columns: [{ heading: 'webhook', isFigure: false }, ...figureColumns(['delivered', 'median', '90th percentile'])],
    rows: webhooks.map(({ webhook_id, succeeded, median_delay_ms, p90_delay_ms }) => [
      webhook_id,
      countText(succeeded),
      delayText(median_delay_ms),
      delayText(p90_delay_ms),
    ]),
  }
  return { svg: values.length === 0 ? '' : await drawn(durationChart(values)), table }
}
