import type { ActivityLabel } from '../../../domain/activity.js'
import { day, minute } from '../../../domain/duration.js'

/** Something that happens in the made-up month, so many milliseconds after it began. */
export type Happening = { readonly after: number } & (
  | { readonly kind: 'lead'; readonly lead: number; readonly person: number; readonly source: number }
  | { readonly kind: 'report'; readonly lead: number; readonly label: ActivityLabel }
  | { readonly kind: 'conversion'; readonly person: number; readonly isSale: boolean; readonly cents: number }
)

/** Sources differ in how many leads they bring, and in how well these sell. */
export const monthSources = [
  { title: 'Search ads', share: 0.4, sells: 0.1 },
  { title: 'Comparison site', share: 0.3, sells: 0.14 },
  { title: 'Social media', share: 0.2, sells: 0.03 },
  { title: 'Referrals', share: 0.1, sells: 0.25 },
] as const

export const monthLength = 30 * day

/** Of each day; fewer come at night. */
const leadsPerDay = 40

/** What happens, in its order: the same numbers from `random`, in [0, 1), give the same month. */
export const monthPlan = (random: () => number): ReadonlyArray<Happening> => {
  const happenings: Array<Happening> = []
  const between = (least: number, most: number): number => Math.round(least + random() * (most - least))
  const sourceAt = (share: number): number => {
    let left = share
    const index = monthSources.findIndex((source) => (left -= source.share) < 0)
    return index === -1 ? 0 : index
  }
  const leads = (leadsPerDay * monthLength) / day
  for (let lead = 0; lead < leads; lead += 1) {
    // From eight to ten in the evening of its day most of them.
    const hour = random() < 0.9 ? between(8, 21) : between(0, 23)
    const after = between(0, monthLength / day - 1) * day + hour * 60 * minute + between(0, 60 * minute - 1)
    const source = sourceAt(random())
    // One in eight has been there before, often by another source.
    const person = lead > 20 && random() < 0.12 ? between(0, lead - 1) : lead
    happenings.push({ kind: 'lead', after, lead, person, source })
    const called = after + Math.round(2 * minute * 90 ** random())
    happenings.push({ kind: 'report', after: called, lead, label: 'phone_call_started' })
    const isReached = random() < 0.65
    const end = isReached ? 'phone_call_connected' : 'phone_call_missed'
    happenings.push({ kind: 'report', after: called + between(10_000, 40_000), lead, label: end })
    if (!isReached) continue
    // Whoever is called soon buys more often.
    const chance = (monthSources[source]?.sells ?? 0) * (called - after < 15 * minute ? 1.5 : 0.9)
    const fate = random()
    if (fate < chance * 2.5) {
      const quoted = called + between(5 * minute, 2 * day)
      happenings.push({ kind: 'conversion', after: quoted, person, isSale: false, cents: between(40_000, 90_000) })
      const sold = quoted + between(30 * minute, 6 * day)
      if (fate < chance)
        happenings.push({ kind: 'conversion', after: sold, person, isSale: true, cents: between(60_000, 180_000) })
    } else if (fate > 0.75) {
      const label = fate > 0.95 ? 'opted_out' : 'not_interested'
      happenings.push({ kind: 'report', after: called + 5 * minute, lead, label })
    }
  }
  return happenings.filter(({ after }) => after < monthLength).toSorted((one, other) => one.after - other.after)
}
