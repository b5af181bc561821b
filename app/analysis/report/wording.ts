import { duration, money, percent } from '../attribution/attribution-output.js'

/** Groups of three digits, as in 1,234.50. */
const grouped = (figure: string): string => figure.replaceAll(/\B(?=(?:\d{3})+(?:\.|$))/g, ',')

export const countText = (count: bigint): string => grouped(String(count))

/** In whole units of the currency, with its hundredths. */
export const moneyText = (cents: bigint): string => grouped(money(cents))

/** In whole units of the currency alone. */
export const roundMoneyText = (cents: bigint): string => grouped(String((cents + 50n) / 100n))

export const percentText = (share: number | null): string => (share === null ? '' : `${percent(share)} %`)

export const intervalText = (low: number | null, high: number | null): string =>
  low === null || high === null ? '' : `${percent(low)} to ${percent(high)} %`

export const minutesText = (minutes: number | null): string =>
  minutes !== null && minutes < 1 ? delayText(minutes * 60_000) : duration(minutes)

/** In milliseconds. */
export const delayText = (milliseconds: number | null): string => {
  if (milliseconds === null) return ''
  if (milliseconds < 1_000) return `${milliseconds.toFixed(0)} ms`
  return milliseconds < 60_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : duration(milliseconds / 60_000)
}

/** `phone_call_started` in words. */
export const words = (label: string): string => label.replaceAll('_', ' ')

/** A chart has room for so many letters of a name. */
const longest = 32

/** What a source or a webhook is called in a chart. */
const short = (name: string): string => (name.length <= longest ? name : `${name.slice(0, longest - 1)}…`)

/**
 * A name of its own for each source, by its id: its title, and the end of the id where others have the same one. Charts
 * and columns tell sources apart by it.
 */
export const sourceNames = (titles: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const shared = new Map<string, number>()
  for (const title of titles.values()) shared.set(short(title), (shared.get(short(title)) ?? 0) + 1)
  return new Map(
    [...titles].map(([id, title]) => {
      const isAlone = shared.get(short(title)) === 1 && title !== noSource
      return [id, isAlone ? short(title) : `${short(title)} (${id.slice(-6)})`]
    }),
  )
}

/** The row of sales that no lead led to. */
export const noSource = '(none)'
