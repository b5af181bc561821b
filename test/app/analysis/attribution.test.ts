import type { DuckDBConnection } from '@duckdb/node-api'
import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { openDuckDb } from '../../../adapters/duckdb/database.js'
import { attributionText, type AttributionRow } from '../../../app/analysis/attribution/attribution-output.js'
import {
  attributionGroupings,
  attributionModels,
  attributionQuery,
  type AttributionRequest,
} from '../../../app/analysis/attribution/attribution-query.js'
import { columnsOf, type TableName } from '../../../app/analysis/tables/tidy-tables.js'
import { figuresOf } from '../../../app/cli/attribution/attribution.js'
import { instantOf } from '../../../domain/instant.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import {
  naiveAttribution,
  type NaiveConversion,
  type NaiveFigures,
  type NaiveHistory,
  type NaiveLead,
  type NaiveText,
} from './naive-attribution.js'

const names = [
  'leads',
  'engagements',
  'activities',
  'messages',
  'conversions',
  'touches',
  'sources',
] as const satisfies ReadonlyArray<TableName>
type Row = Readonly<Record<string, string | number | boolean | null>>
type Rows = Readonly<Record<(typeof names)[number], ReadonlyArray<Row>>>

let database: Awaited<ReturnType<typeof openDuckDb>>

test.before(async () => {
  database = await openDuckDb(':memory:')
})

test.after.always(() => {
  database.close()
})

/** The night of a Sunday of the last week of 2026, which the year 2027 begins in. */
const start = Date.parse('2027-01-03T22:00:00.000Z')
const hour = 3_600_000
const day = 24 * hour

/** Few values, so that many are equal. */
const moments = fc
  .oneof(
    fc.integer({ min: 0, max: 6 }).map((n) => n * hour),
    fc.integer({ min: 0, max: 12 }).map((n) => n * day),
  )
  .map((after) => start + after)

const drawn = fc.record({
  leads: fc.array(
    fc.record({
      contact: fc.constantFrom(0, 0, 0, 1, 2),
      source: fc.nat(3),
      state: fc.constantFrom('TX', 'CA', null),
      at: moments,
      version: fc.constantFrom(null, 1, 2),
      texts: fc.array(
        fc.record({
          is: fc.constantFrom(
            'sent step',
            'sent step',
            'failed step',
            'confirmation',
            'reply',
            'qualified',
            'opted_out',
            'help',
          ),
          at: fc.constantFrom(0, 90_000, hour, 2 * day),
        }),
        { maxLength: 4 },
      ),
      calls: fc.array(fc.constantFrom(0, 299_999, 300_000, hour, 5 * hour, 2 * day), { maxLength: 2 }),
    }),
    { maxLength: 10, size: 'max' },
  ),
  conversions: fc.array(
    fc.record({
      contact: fc.constantFrom(0, 0, 0, 1, 2),
      label: fc.constantFrom('sold', 'quoted', "o'clock"),
      cents: fc.oneof(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 100_000 }), fc.constant(2 ** 53 - 1)),
      at: moments.map((at) => at + 3 * day),
    }),
    { maxLength: 5, size: 'max' },
  ),
})

/** The last contact is one of another account. Ids are not in the order of time. */
const histories = drawn.map(({ leads, conversions }): NaiveHistory => {
  const accountOf = (contact: number): string => (contact === 2 ? 'acc_other' : 'acc_one')
  return {
    leads: leads.map((lead, n): NaiveLead => {
      const account = accountOf(lead.contact)
      return {
        ...lead,
        id: `ned_${(n * 7) % 10}`,
        account,
        contact: `nct_${lead.contact}`,
        source: `mks_${account}_${lead.source}`,
        playbook: `ply_${account}_${lead.source % 2}`,
        texts: lead.texts.map((text) => ({ ...text, at: lead.at + text.at })),
        calls: lead.calls.map((after) => lead.at + after),
      }
    }),
    conversions: conversions.map((conversion, n): NaiveConversion => ({
      ...conversion,
      id: `cnc_${n}`,
      account: accountOf(conversion.contact),
      contact: `nct_${conversion.contact}`,
    })),
  }
})

const chosen = {
  by: fc.constantFrom(...attributionGroupings),
  halfLife: fc.constantFrom(0.25, 7),
  window: fc.constantFrom(3, 90),
  costs: fc.constantFrom(
    [{ sourceId: 'mks_acc_one_1', cents: 1250 }],
    [
      { sourceId: 'mks_acc_one_1', to: instantOf(start + 2 * hour), cents: 100 },
      { sourceId: 'mks_acc_one_1', from: instantOf(start + 2 * hour), to: instantOf(start + 2 * day), cents: 7 },
      { sourceId: 'mks_acc_one_2', cents: 0 },
    ],
  ),
}

/** Most ask about everything: few conversions are left by several filters. */
const requests: fc.Arbitrary<Omit<AttributionRequest, 'model'>> = fc.oneof(
  { weight: 2, arbitrary: fc.record(chosen) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        ...chosen,
        labels: fc.constantFrom(['sold'], ['quoted', "o'clock"]),
        accountId: fc.constant('acc_one'),
        from: fc.constantFrom(start, start + 2 * hour, start + 2 * day).map(instantOf),
        to: fc.constantFrom(start + 5 * day, start + 9 * day).map(instantOf),
      },
      { requiredKeys: ['by', 'halfLife', 'window'] },
    ),
  },
)

const messageOf = (lead_id: string, { is, at }: NaiveText): Row => {
  const common = { lead_id, begun_at: instantOf(at) }
  switch (is) {
    case 'sent step':
    case 'failed step':
      return { ...common, direction: 'outbound', purpose: 'step', state: is === 'sent step' ? 'sent' : 'failed' }
    case 'confirmation':
      return { ...common, direction: 'outbound', purpose: is, state: 'sent' }
    default:
      return { ...common, direction: 'inbound', state: 'received', meaning: is }
  }
}

const tablesOf = ({ leads, conversions }: NaiveHistory): Rows => ({
  leads: leads.map(({ id, account, contact, source, playbook, state, at }) => ({
    lead_id: id,
    account_id: account,
    contact_id: contact,
    source_id: source,
    playbook_id: playbook,
    state,
    submitted_at: instantOf(at),
  })),
  engagements: leads.map(({ id, version }) => ({ lead_id: id, playbook_version: version })),
  messages: leads.flatMap(({ id, texts }) => texts.map((text) => messageOf(id, text))),
  activities: leads.flatMap(({ id, at, calls }) => [
    { lead_id: id, label: 'started', at: instantOf(at) },
    { lead_id: id, label: 'phone_call_received', at: instantOf(at + 1) },
    ...calls.map((call) => ({ lead_id: id, label: 'phone_call_started', at: instantOf(call) })),
  ]),
  conversions: conversions.map(({ id, account, contact, label, cents, at }) => ({
    record_id: id,
    account_id: account,
    contact_id: contact,
    label,
    value_cents: cents,
    converted_at: instantOf(at),
  })),
  touches: conversions.flatMap((conversion) =>
    leads
      .filter(({ contact, at }) => contact === conversion.contact && at <= conversion.at)
      .map(({ id, account, contact, source, playbook, at }) => ({
        record_id: conversion.id,
        lead_id: id,
        account_id: account,
        contact_id: contact,
        source_id: source,
        playbook_id: playbook,
        submitted_at: instantOf(at),
        converted_at: instantOf(conversion.at),
      })),
  ),
  sources: [...new Set(leads.map(({ source }) => source))].map((source) => ({
    source_id: source,
    title: `Title of ${source}`,
  })),
})

const literal = (value: Row[string] | undefined): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value ?? null)

/** The tables as the loader makes them, with these rows; what is not given of a row is null. */
const filled = async (connection: DuckDBConnection, history: NaiveHistory): Promise<void> => {
  const tables = tablesOf(history)
  for (const name of names) {
    const columns = columnsOf(name, { isPersonalShown: false })
    const declared = columns.map(([column, type]) => `"${column}" ${type}`)
    await connection.run(`CREATE OR REPLACE TABLE ${name} (${declared.join(', ')})`)
    const values = tables[name].map((row) => `(${columns.map(([column]) => literal(row[column])).join(', ')})`)
    if (values.length > 0) await connection.run(`INSERT INTO ${name} VALUES ${values.join(', ')}`)
  }
}

/** Shares are rounded to six places, minutes to three; everything else is exact. */
const assertEqual = (rows: ReadonlyArray<AttributionRow>, expected: ReadonlyArray<NaiveFigures>): void => {
  const exact = (row: NaiveFigures): unknown =>
    Object.entries(row).map(([name, value]) =>
      typeof value === 'number' && isRounded(name) ? [name, 'rounded'] : [name, value === null ? null : String(value)],
    )
  assert.deepEqual(rows.map(exact), expected.map(exact))
  rows.forEach((row, n) => {
    for (const [name, value] of Object.entries(row)) {
      const other = expected[n]?.[name]
      if (typeof value !== 'number' || typeof other !== 'number') continue
      assert.ok(Math.abs(value - other) <= (name.includes('rate') ? 6e-7 : 6e-4), `${name}: ${value}, not ${other}`)
    }
  })
}

const isRounded = (name: string): boolean => /rate|_minutes_/.test(name)

test.serial('every figure is that of a second computation, under each model and grouping', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(histories, requests, async (history, request) => {
      await filled(database.connection, history)
      for (const model of attributionModels) {
        const asked = { ...request, model }
        const rows = await figuresOf(database.connection, attributionQuery(asked))
        assertEqual(rows, naiveAttribution(history, asked))
      }
    }),
    { numRuns: 30 },
  )
})

test.serial(
  'under each model and grouping credits add up to the conversions, and money to their value in cents',
  async (t) => {
    const { connection } = database
    const [history] = fc.sample(
      histories.filter(({ leads, conversions }) => leads.length === 10 && conversions.length === 5),
      { numRuns: 1, seed: 1 },
    )
    await filled(connection, history ?? { leads: [], conversions: [] })
    const value = (history?.conversions ?? []).reduce((all, { cents }) => all + BigInt(cents), 0n)
    for (const model of attributionModels) {
      for (const by of attributionGroupings) {
        const rows = await figuresOf(connection, attributionQuery({ model, by, halfLife: 0.25, window: 90 }))
        const millionths = rows.reduce((all, { credit }) => all + BigInt(credit.replace('.', '')), 0n)
        t.is(millionths, 5_000_000n, `${model} by ${by}`)
        t.is(
          rows.reduce((all, { value_cents }) => all + value_cents, 0n),
          value,
          `${model} by ${by}`,
        )
      }
    }
  },
)

for (const format of ['parquet', 'csv'] as const) {
  test.serial(`the SQL gives the same figures by itself over tables in ${format}, wherever it is run`, async (t) => {
    const folder = temporaryDirectory(t)
    const { connection } = database
    const [history = { leads: [], conversions: [] }] = fc.sample(
      histories.filter(({ leads, conversions }) => leads.length > 5 && conversions.length > 2),
      { numRuns: 1, seed: 2 },
    )
    const elsewhere = await openDuckDb(':memory:')
    t.teardown(elsewhere.close)
    await filled(connection, history)
    await elsewhere.connection.run("SET TimeZone = 'America/New_York'")
    for (const name of names) {
      const file = join(folder, `${name}.${format}`)
      await connection.run(`COPY ${name} TO '${file}'`)
      await elsewhere.connection.run(`CREATE TABLE ${name} AS FROM '${file}'`)
    }
    for (const by of attributionGroupings) {
      const sql = attributionQuery({
        model: 'position-based',
        by,
        halfLife: 7,
        window: 90,
        labels: ['sold', "o'clock"],
        from: instantOf(start + day),
      })
      t.deepEqual(await figuresOf(elsewhere.connection, sql), await figuresOf(connection, sql))
    }
  })
}

test.serial(
  'what is at the first moment of a period counts and what is at its end does not, also for costs',
  async (t) => {
    const { connection } = database
    const lead = {
      account: 'acc_one',
      source: 'mks_a',
      playbook: 'ply_a',
      state: 'TX',
      version: 1,
      calls: [],
      texts: [],
    }
    const sold = { account: 'acc_one', label: 'sold', cents: 100 }
    await filled(connection, {
      leads: [start, start + day].map((at, n) => ({ ...lead, id: `ned_${n}`, contact: `nct_${n}`, at })),
      conversions: [start, start + day].map((at, n) => ({ ...sold, id: `cnc_${n}`, contact: `nct_${n}`, at })),
    })
    const period = { from: instantOf(start), to: instantOf(start + day) }
    const request = { model: 'linear', by: 'source', halfLife: 7, window: 90 } as const
    const figures = async (asked: Pick<AttributionRequest, 'from' | 'to' | 'costs'>) =>
      (await figuresOf(connection, attributionQuery({ ...request, ...asked }))).map(
        ({ leads, conversions, cost_cents }) => [leads, conversions, cost_cents],
      )
    t.deepEqual(await figures(period), [[1n, 1n, null]])
    t.deepEqual(await figures({ costs: [{ sourceId: 'mks_a', ...period, cents: 7 }] }), [[2n, 2n, 7n]])
  },
)

test.serial('figures can be had as a table, as CSV and as JSON', async (t) => {
  const at = start
  const lead = { account: 'acc_one', contact: 'nct_1', source: 'mks_a', playbook: 'ply_a', state: 'TX', version: 1, at }
  const sent = [{ is: 'sent step', at }] as const
  await filled(database.connection, {
    leads: [
      { ...lead, id: 'ned_1', calls: [at + 90_000], texts: [...sent, { is: 'reply', at: at + 3 * hour }] },
      { ...lead, id: 'ned_2', contact: 'nct_2', calls: [], texts: sent },
    ],
    conversions: [
      { id: 'cnc_1', account: 'acc_one', contact: 'nct_1', label: 'sold', cents: 120_005, at: at + 3 * day },
      { id: 'cnc_2', account: 'acc_one', contact: 'nct_3', label: 'sold', cents: 0, at: at + day },
    ],
  })
  const request = { model: 'linear', by: 'source', halfLife: 7, window: 90 } as const
  const costs = [{ sourceId: 'mks_a', cents: 999 }]
  const rows = await figuresOf(database.connection, attributionQuery({ ...request, costs }))
  t.is(
    attributionText(rows, 'table', 'source'),
    `source  title           leads  conversions    credit    value   cost  contacts  converted  rate %      95 %  to sale    p90  contacted  to contact      p90  messaged  replied %  opted out %  to reply    p90
mks_a   Title of mks_a      2            1  1.000000  1200.05  19.98         2          1    50.0  9.5-90.5    3.0 d  3.0 d          2     0.0 min  0.0 min         2       50.0          0.0     3.0 h  3.0 h
(none)                      0            1  1.000000     0.00                0          0                                            0                              0
`,
  )
  t.is(
    attributionText(rows, 'csv', 'source'),
    `key,title,leads,conversions,credit,value_cents,cost_cents,contacts,converted,rate,rate_low,rate_high,median_minutes_to_sale,p90_minutes_to_sale,leads_contacted,leads_called,median_minutes_to_first_contact,p90_minutes_to_first_contact,leads_messaged,leads_replied,reply_rate,leads_opted_out,opt_out_rate,median_minutes_to_first_reply,p90_minutes_to_first_reply
mks_a,Title of mks_a,2,1,1.000000,120005,1998,2,1,0.5,0.094531,0.905469,4320,4320,2,1,0,0,2,1,0.5,0,0,180,180
(none),,0,1,1.000000,0,,0,0,,,,,,0,0,,,0,0,,0,,,
`,
  )
  const [first, last] = JSON.parse(attributionText(rows, 'json', 'source')) as ReadonlyArray<object>
  t.like(first, { key: 'mks_a', leads: 2, credit: '1.000000', value_cents: 120005, cost_cents: 1998, rate: 0.5 })
  t.like(last, { key: '(none)', conversions: 1, value_cents: 0, cost_cents: null, rate: null })
  t.deepEqual(JSON.parse(attributionText([], 'json', 'source')), [])
})

test.serial('sums beyond what 64 bits hold are exact', async (t) => {
  const at = start
  const lead = {
    id: 'ned_1',
    account: 'acc_one',
    contact: 'nct_0',
    source: 'mks_1',
    playbook: 'ply_1',
    state: null,
    at,
  }
  const most = 2 ** 53 - 1
  const sales = Array.from({ length: 1_100 }, (_, n) => ({
    id: `ccv_${n}`,
    label: 'sold',
    cents: most,
    at: start + day,
  }))
  await filled(database.connection, {
    leads: [{ ...lead, version: null, texts: [], calls: [] }],
    conversions: sales.map((sale) => ({ ...sale, account: 'acc_one', contact: 'nct_0' })),
  })
  const asked = { model: 'last-touch', by: 'source', halfLife: 7, window: 90 } as const
  const [row] = await figuresOf(database.connection, attributionQuery(asked))
  t.is(row?.value_cents, 1_100n * BigInt(most))
})
