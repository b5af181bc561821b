/** Latencies in milliseconds. */
export type Summary = { readonly perSecond: number; readonly p50: number; readonly p99: number }

/** What was measured beside its baseline; memory in MB. */
export type Compared = { readonly ours: Summary; readonly theirs: Summary; readonly memory: number }

export const summaryOf = (latencies: ReadonlyArray<number>, seconds: number): Summary => {
  const sorted = [...latencies].sort((one, other) => one - other)
  return { perSecond: latencies.length / seconds, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const median = (values: ReadonlyArray<number>): number =>
  quantile(
    [...values].sort((one, other) => one - other),
    0.5,
  )

/** Figure by figure, the median of several runs. */
export const medianOf = (runs: ReadonlyArray<Summary>): Summary => ({
  perSecond: median(runs.map(({ perSecond }) => perSecond)),
  p50: median(runs.map(({ p50 }) => p50)),
  p99: median(runs.map(({ p99 }) => p99)),
})
