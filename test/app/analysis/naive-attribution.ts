import type { AttributionRequest } from '../../../app/analysis/attribution/attribution-query.js'

/** Times are milliseconds. */
export type NaiveLead = {
  readonly id: string
  readonly account: string
  readonly contact: string
  readonly source: string
  readonly playbook: string
  readonly state: string | null
  readonly at: number
  readonly calls: ReadonlyArray<number>
  /** Of the playbook; null where its engagement has none. */
  readonly version: number | null
  readonly texts: ReadonlyArray<NaiveText>
}

export type NaiveText = {
  readonly is: 'sent step' | 'failed step' | 'confirmation' | 'reply' | 'qualified' | 'opted_out' | 'help'
  readonly at: number
}

export type NaiveConversion = {
  readonly id: string
  readonly account: string
  readonly contact: string
  readonly label: string
  readonly cents: number
  readonly at: number
}

export type NaiveHistory = {
  readonly leads: ReadonlyArray<NaiveLead>
  readonly conversions: ReadonlyArray<NaiveConversion>
}

export type NaiveFigures = Readonly<Record<string, string | number | bigint | null>>
type Touch = { readonly lead: NaiveLead; readonly weight: bigint }
type Part = { readonly key: string; readonly record: string; readonly millionths: bigint; readonly cents: bigint }

/** The figures of an attribution without SQL, in the order of its rows; shares and minutes are not rounded. */
export const naiveAttribution = (history: NaiveHistory, request: AttributionRequest): ReadonlyArray<NaiveFigures> => {
  const isAsked = ({ at, account }: { at: number; account: string }): boolean =>
    (request.accountId === undefined || account === request.accountId) &&
    (request.from === undefined || at >= Date.parse(request.from)) &&
    (request.to === undefined || at < Date.parse(request.to))
  const counted = history.leads.filter(isAsked)
  const conversions = history.conversions.filter(
    (conversion) => isAsked(conversion) && (request.labels?.includes(conversion.label) ?? true),
  )
  const leadsBefore = (conversion: NaiveConversion): ReadonlyArray<NaiveLead> =>
    history.leads
      .filter(({ contact, at }) => {
        const age = conversion.at - at
        return contact === conversion.contact && age >= 0 && age <= request.window * 86_400_000
      })
      .toSorted(byTime)
  const parts = conversions.flatMap((conversion) => partsOf(conversion, leadsBefore(conversion), request))
  const keys = new Set([...counted.map((lead) => keyOf(lead, request)), ...parts.map(({ key }) => key)])
  const rows = [...keys].map((key) => {
    const ofKey = (lead: NaiveLead): boolean => keyOf(lead, request) === key
    const leads = counted.filter(ofKey)
    const contacts = new Set(leads.map(({ contact }) => contact))
    const converted = new Set(
      conversions.filter((one) => leadsBefore(one).some((lead) => leads.includes(lead))).map(({ contact }) => contact),
    )
    const given = parts.filter((part) => part.key === key)
    const saleMinutes = conversions.flatMap((conversion) => {
      const first = leadsBefore(conversion).find(ofKey)
      return first === undefined ? [] : [(conversion.at - first.at) / 60_000]
    })
    const messaged = leads.filter((lead) => firstSentOf(lead) !== undefined)
    const replyMinutes = messaged.flatMap((lead) => {
      const sent = firstSentOf(lead) ?? 0
      const replies = answersIn(lead).filter((text) => text.is === 'reply' || text.is === 'qualified')
      return replies.length === 0 ? [] : [(Math.min(...replies.map(({ at }) => at)) - sent) / 60_000]
    })
    const optedOut = messaged.filter((lead) => answersIn(lead).some((text) => text.is === 'opted_out'))
    const contactMinutes = leads.flatMap((lead) => minutesToContact(lead) ?? [])
    return {
      key,
      title: request.by === 'source' && key !== '(none)' ? `Title of ${key}` : null,
      leads: leads.length,
      conversions: new Set(given.map(({ record }) => record)).size,
      credit: decimal(sum(given.map(({ millionths }) => millionths))),
      value_cents: sum(given.map(({ cents }) => cents)),
      cost_cents: costOf(leads, request),
      contacts: contacts.size,
      converted: converted.size,
      ...wilson(converted.size, contacts.size),
      median_minutes_to_sale: quantile(saleMinutes, 0.5),
      p90_minutes_to_sale: quantile(saleMinutes, 0.9),
      leads_contacted: contactMinutes.length,
      leads_called: leads.filter(({ calls }) => calls.length > 0).length,
      median_minutes_to_first_contact: quantile(contactMinutes, 0.5),
      p90_minutes_to_first_contact: quantile(contactMinutes, 0.9),
      leads_messaged: messaged.length,
      leads_replied: replyMinutes.length,
      reply_rate: messaged.length === 0 ? null : replyMinutes.length / messaged.length,
      leads_opted_out: optedOut.length,
      opt_out_rate: messaged.length === 0 ? null : optedOut.length / messaged.length,
      median_minutes_to_first_reply: quantile(replyMinutes, 0.5),
      p90_minutes_to_first_reply: quantile(replyMinutes, 0.9),
    }
  })
  const isByKey = request.by === 'week' || request.by === 'first-contact'
  return rows.toSorted(
    (one, other) =>
      Number(one.key === '(none)') - Number(other.key === '(none)') ||
      (isByKey || one.value_cents === other.value_cents ? 0 : one.value_cents > other.value_cents ? -1 : 1) ||
      (one.key < other.key ? -1 : 1),
  )
}

const firstSentOf = ({ texts }: NaiveLead): number | undefined =>
  texts.flatMap((text) => (text.is === 'sent step' ? [text.at] : [])).toSorted((one, other) => one - other)[0]

const answersIn = (lead: NaiveLead): ReadonlyArray<NaiveText> =>
  lead.texts.filter(({ at }) => at >= (firstSentOf(lead) ?? Infinity))

const byTime = (one: NaiveLead, other: NaiveLead): number => one.at - other.at || (one.id < other.id ? -1 : 1)

const sum = (values: ReadonlyArray<bigint>): bigint => values.reduce((all, value) => all + value, 0n)

const decimal = (millionths: bigint): string => {
  const digits = String(millionths).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}

const partsOf = (
  conversion: NaiveConversion,
  leads: ReadonlyArray<NaiveLead>,
  request: AttributionRequest,
): ReadonlyArray<Part> => {
  const record = conversion.id
  const touches = touchesOf(leads, request)
  if (touches.length === 0) return [{ key: '(none)', record, millionths: 1_000_000n, cents: BigInt(conversion.cents) }]
  const weights = touches.map(({ weight }) => weight)
  const millionths = split(1_000_000n, weights)
  const cents = split(BigInt(conversion.cents), weights)
  return touches.flatMap(({ lead, weight }, n) =>
    weight === 0n
      ? []
      : [{ key: keyOf(lead, request), record, millionths: millionths[n] ?? 0n, cents: cents[n] ?? 0n }],
  )
}

/** In the order of their leads. */
const touchesOf = (leads: ReadonlyArray<NaiveLead>, request: AttributionRequest): ReadonlyArray<Touch> => {
  const isLastOne = request.model === 'last-touch' || request.model === 'time-decay'
  const standing = new Map<string, NaiveLead>()
  for (const lead of leads) if (isLastOne || !standing.has(lead.source)) standing.set(lead.source, lead)
  const touches = [...standing.values()].toSorted(byTime)
  return touches.map((lead, n) => ({ lead, weight: weightOf(lead, n, touches, request) }))
}

const weightOf = (
  { at }: NaiveLead,
  n: number,
  touches: ReadonlyArray<NaiveLead>,
  { model, halfLife }: AttributionRequest,
): bigint => {
  const last = touches.length - 1
  switch (model) {
    case 'first-touch':
      return n === 0 ? 1n : 0n
    case 'last-touch':
      return n === last ? 1n : 0n
    case 'linear':
      return 1n
    case 'time-decay': {
      const days = ((touches[last]?.at ?? at) - at) / 86_400_000
      return BigInt(Math.round(1e9 * 0.5 ** (days / halfLife)))
    }
    case 'position-based':
      if (last < 2) return 1n
      return n === 0 || n === last ? 40n * BigInt(last - 1) : 20n
  }
}

/** Unit by unit to whoever lacks most of its exact share; the earlier one of equals. */
const split = (whole: bigint, weights: ReadonlyArray<bigint>): ReadonlyArray<bigint> => {
  const total = sum(weights)
  const shares = weights.map((weight) => (whole * weight) / total)
  const remainders = weights.map((weight, n) => whole * weight - total * (shares[n] ?? 0n))
  for (let left = whole - sum(shares); left > 0n; left -= 1n) {
    const most = remainders.reduce((found, value, n) => (value > (remainders[found] ?? -1n) ? n : found), 0)
    shares[most] = (shares[most] ?? 0n) + 1n
    remainders[most] = -1n
  }
  return shares
}

const minutesToContact = (lead: NaiveLead): number | undefined => {
  const first = Math.min(...lead.calls, firstSentOf(lead) ?? Infinity)
  return first === Infinity ? undefined : (first - lead.at) / 60_000
}

const keyOf = (lead: NaiveLead, { by }: AttributionRequest): string => {
  switch (by) {
    case 'source':
      return lead.source
    case 'playbook':
      return lead.playbook
    case 'playbook-version':
      return `${lead.playbook}/${lead.version ?? '(none)'}`
    case 'week':
      return isoWeek(lead.at)
    case 'state':
      return lead.state ?? '(unknown)'
    case 'first-contact': {
      const minutes = minutesToContact(lead)
      if (minutes === undefined) return 'never'
      if (minutes < 5) return '00:00-00:05'
      if (minutes < 60) return '00:05-01:00'
      return minutes < 1440 ? '01:00-24:00' : '24:00-'
    }
  }
}

/** The year and the week are those of the week's Thursday (ISO 8601). */
const isoWeek = (at: number): string => {
  const thursday = new Date(at)
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7))
  const days =
    (Date.parse(thursday.toISOString().slice(0, 10)) - Date.UTC(thursday.getUTCFullYear(), 0, 1)) / 86_400_000
  return `${thursday.getUTCFullYear()}-W${String(Math.floor(days / 7) + 1).padStart(2, '0')}`
}

const costOf = (leads: ReadonlyArray<NaiveLead>, { costs = [] }: AttributionRequest): number | null => {
  const cents = leads.flatMap(({ source, at }) => {
    const line = costs.find(
      ({ sourceId, from, to }) =>
        sourceId === source &&
        (from === undefined || at >= Date.parse(from)) &&
        (to === undefined || at < Date.parse(to)),
    )
    return line === undefined ? [] : [line.cents]
  })
  return cents.length === 0 ? null : cents.reduce((all, one) => all + one, 0)
}

/** The roots of (p - share)² = z² p (1 - p) / n in p. */
const wilson = (successes: number, n: number): Pick<NaiveFigures, 'rate' | 'rate_low' | 'rate_high'> => {
  if (n === 0) return { rate: null, rate_low: null, rate_high: null }
  const share = successes / n
  const z2 = 1.959963984540054 ** 2
  const [a, b, c] = [1 + z2 / n, -(2 * share + z2 / n), share ** 2]
  const root = Math.sqrt(b ** 2 - 4 * a * c)
  return { rate: share, rate_low: (-b - root) / (2 * a), rate_high: (-b + root) / (2 * a) }
}

const quantile = (values: ReadonlyArray<number>, share: number): number | null => {
  const sorted = values.toSorted((one, other) => one - other)
  const place = (sorted.length - 1) * share
  const low = sorted[Math.floor(place)]
  const high = sorted[Math.ceil(place)]
  return low === undefined || high === undefined ? null : low + (high - low) * (place - Math.floor(place))
}
