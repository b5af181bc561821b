import type { FilterOptions } from './decode.js'
import type { LoggedEvent } from './log.js'

export type Matches = (event: LoggedEvent) => boolean

/**
 * What a filter lets through: one of its prefixes, or its regular expression. That one is of .NET on a real server,
 * whose dialect agrees with this one as far as plain patterns go.
 */
export const matcherOf = (filter: FilterOptions | undefined): Matches => {
  if (filter === undefined) return () => true
  const { on, prefixes, regex } = filter
  if (prefixes.length > 0) return (event) => prefixes.some((prefix) => event[on].startsWith(prefix))
  const pattern = new RegExp(regex)
  return (event) => pattern.test(event[on])
}
