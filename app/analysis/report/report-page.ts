import type { Instant } from '../../../domain/instant.js'
import type { ReportFigures } from './report-figures.js'
import type { ReportRequest } from '../report-queries/report-query.js'
import { pageText } from './page.js'
import { cohortsSection, firstContactSection, revenueSection } from './sales-sections.js'
import { funnelSection, leadsSection, webhooksSection } from './traffic-sections.js'
import { sumOf } from './sum.js'
import { countText, moneyText, sourceNames } from './wording.js'

export type ReportHeading = Pick<ReportRequest, 'from' | 'to'> & {
  /** Those that the report is of. */
  readonly accounts: ReadonlyArray<{ readonly id: string; readonly title: string }>
  readonly madeAt: Instant
}

const timeText = (at: Instant): string => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`

const rangeText = ({ from, to }: Pick<ReportHeading, 'from' | 'to'>): string => {
  if (from === undefined) return to === undefined ? 'all times' : `before ${timeText(to)}`
  return `from ${timeText(from)} on${to === undefined ? '' : `, before ${timeText(to)}`}`
}

/** Accounts that are named; more are counted. */
const accountsNamed = 5

const accountsText = (accounts: ReportHeading['accounts']): string => {
  const named = accounts.slice(0, accountsNamed).map(({ id, title }) => `${title} (${id})`)
  const more = accounts.length - named.length
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ') || 'none'
}

const summaryOf = ({ models, leads, webhooks }: ReportFigures): string => {
  const counted = [
    ['Leads', sumOf(leads.map((row) => row.leads))],
    // Under this model each sale stands in one row.
    ['sales', sumOf(models['last-touch'].map(({ conversions }) => conversions))],
    ['deliveries', sumOf(webhooks.map(({ deliveries }) => deliveries))],
  ] as const
  if (counted.every(([, count]) => count === 0n)) {
    return 'Nothing was recorded in this range: no lead, no sale and no delivery.'
  }
  const revenue = sumOf(models['last-touch'].map(({ value_cents }) => value_cents))
  return `${counted.map(([name, count]) => `${name}: ${countText(count)}`).join('; ')}; revenue: ${moneyText(revenue)} in units of the currency. A sale is a conversion with the label sold.`
}

/** The report as one HTML file: the same bytes for the same figures and heading. */
export const reportPage = async (figures: ReportFigures, heading: ReportHeading): Promise<string> => {
  const { leads, labels, models, weeks, firstContact, webhooks } = figures
  const names = sourceNames(figures.titles)
  return pageText({
    title: 'Leads, sales and webhooks',
    facts: [
      ['Range', rangeText(heading)],
      [heading.accounts.length === 1 ? 'Account' : 'Accounts', accountsText(heading.accounts)],
      ['Made', timeText(heading.madeAt)],
      ['Shows', 'what was recorded until then'],
    ],
    summary: summaryOf(figures),
    sections: [
      await leadsSection(leads, names),
      await funnelSection(labels, sumOf(leads.map((row) => row.leads))),
      await revenueSection(models, names),
      await cohortsSection(weeks),
      await firstContactSection(firstContact, models['last-touch'], names),
      await webhooksSection(webhooks),
    ],
  })
}
