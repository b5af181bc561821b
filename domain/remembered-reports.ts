import type { ActivityReportId } from './ids.js'

/**
 * A repetition follows what it repeats within minutes: what is remembered of reports must not grow with its engagement.
 */
export const rememberedReports = 100

/** With one more, without the oldest where there are too many. */
export const withReport = <Remembered>(
  reports: ReadonlyMap<ActivityReportId, Remembered>,
  id: ActivityReportId,
  one: Remembered,
): ReadonlyMap<ActivityReportId, Remembered> => new Map([...reports, [id, one] as const].slice(-rememberedReports))
