import type { Summary } from './summary.js'

/** A line of the table. */
export type Row = {
  readonly measured: string
  readonly ours: string
  readonly baseline: string
  readonly ratio: string
  readonly goal: string
  readonly met: boolean
}

export const shown = ({ perSecond, p50, p99 }: Summary): string =>
  `${perSecond.toFixed(0)}/s` + (Number.isNaN(p50) ? '' : `, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
