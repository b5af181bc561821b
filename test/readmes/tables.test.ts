import Database from 'better-sqlite3'
import test from 'ava'
import { readFileSync } from 'node:fs'
import { creation } from '../../adapters/sqlite/documents/sql.js'
import { schema } from '../../adapters/sqlite/schema.js'
import { twilioTextProvider } from '../../adapters/twilio/text-provider.js'
import { columnsOf, tableNames } from '../../app/analysis/tables/tidy-tables.js'
import type { ManagePorts } from '../../app/manage/ports.js'
import { manageSurface } from '../../app/manage/surface.js'
import { messagesSurface, type MessagesPorts } from '../../app/messaging/surface.js'
import { restSurface, type RestPorts } from '../../app/rest/surface.js'
import { activityLabels, labelsOf } from '../../domain/activity.js'
import { categories, categoriesOf, eventTypes } from '../../domain/events.js'
import { millisecondsOf } from '../../domain/instant.js'
import { deliveryRetries, nextDeliveryAttemptAt } from '../../domain/retry-schedule.js'
import { collectionOf } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { at } from '../kit/domain/samples.js'
import { distinct, readmeNamed, readmes, matches, quotedIn, sourcesIn, tableIn } from './readmes.js'

const quotedNames = (cell: string): ReadonlyArray<string> => matches(cell, /`([^`]+)`/g)

const textOf = (folder: string): string =>
  sourcesIn(folder)
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')

test('every npm command that a document names is there, and every one that is there is named', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: Record<string, string> }
  const all = readmes.map(({ text }) => text).join('\n')
  t.deepEqual(
    distinct(matches(all, /\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)),
    Object.keys(scripts)
      .filter((name) => !/^(pre|post)/.test(name))
      .toSorted(),
  )
})

test('every setting stands in the table of the operators, and every one that stands there is read', (t) => {
  const settings = distinct(matches(readFileSync('app/composition/config.ts', 'utf8'), /^ {2}([A-Z][A-Z_]+):/gm))
  t.true(settings.includes('PORT'))
  t.deepEqual(
    tableIn(readmeNamed('app/README.md'), 'setting')
      .flatMap(([name = '']) => quotedNames(name))
      .toSorted(),
    [...settings],
  )
})

test('every metric stands in the table of the operators, and every one that a document names is there', (t) => {
  const metrics = distinct(matches(textOf('app'), /name: '(leadloop_\w+)'/g))
  t.true(metrics.length > 0)
  const rows = tableIn(readmeNamed('app/README.md'), 'metric').flatMap(([name = '']) => quotedNames(name))
  t.deepEqual(rows.toSorted(), [...metrics])
  const named = readmes.flatMap((readme) => matches(quotedIn(readme).join('\n'), /\b(leadloop_[a-z_]+)/g))
  t.deepEqual(distinct(named), metrics)
})

test('every event type stands in the table of the domain, in the row of its stream and its file, and no other does', (t) => {
  const rows = tableIn(readmeNamed('domain/README.md'), 'stream').map(([stream = '', file = '', types = '']) => ({
    category: /^`([a-z_]+)-/.exec(stream)?.[1],
    file: quotedNames(file)[0] ?? '',
    types: quotedNames(types),
  }))
  t.deepEqual(rows.flatMap(({ types }) => types).toSorted(), [...eventTypes].toSorted())
  for (const { category, file, types } of rows) {
    t.deepEqual([...categoriesOf(new Set(types))].map(String), [category])
    t.true(readFileSync(file, 'utf8').includes(`\n  category: '${String(category)}',\n`), file)
  }
  t.is(rows.length, categories.length)
})

test('every read model stands in its table with each of its indexes, and nothing else does', (t) => {
  let name = ''
  const described = tableIn(readmeNamed('projections/README.md'), 'read model').map(([model = '', , index = '']) => {
    name = quotedNames(model)[0] ?? name
    return [name, ...quotedNames(index)].join(' ')
  })
  const real = readModels.flatMap((projection) => {
    const indexes = Object.entries(projection.indexes).map(([index, fields]) => [index, ...fields].join(' '))
    return indexes.length === 0 ? [projection.name] : indexes.map((index) => `${projection.name} ${index}`)
  })
  t.deepEqual(described.toSorted(), real.toSorted())
})

test('every column of an export stands in the dictionary, in its place and with its type, and nothing else does', (t) => {
  const described = tableIn(readmeNamed('app/analysis/README.md'), 'table').map(
    ([table = '', column = '', type, is]) => [
      quotedNames(table)[0],
      quotedNames(column)[0],
      type,
      is?.includes('only with `--personal`') === true ? ['personal'] : [],
    ],
  )
  const real = tableNames.flatMap((table) =>
    columnsOf(table, { isPersonalShown: true }).map(([column, type, ...personal]) => [table, column, type, personal]),
  )
  t.deepEqual(described, real)
})

test('the labels of the contract are those of the domain', (t) => {
  const rows = tableIn(readmeNamed('app/http/README.md'), 'type').map(([type = '', labels = '']) => [
    quotedNames(type)[0],
    quotedNames(labels),
  ])
  t.deepEqual(Object.fromEntries(rows), labelsOf)
})

test('what fires each label stands in the table of the labels, calls in one row', (t) => {
  const rows = tableIn(readmeNamed('app/http/README.md'), 'label').flatMap(([label = '']) => quotedNames(label))
  const isCall = (label: string): boolean => label.startsWith('phone_call_')
  t.deepEqual(
    rows.filter((label) => !isCall(label)).toSorted(),
    activityLabels.filter((label) => !isCall(label)).toSorted(),
  )
  t.is(rows.filter(isCall).length, 1)
})

/** Of a surface that is looked at and never asked. */
const noPorts = new Proxy({}, { get: () => ({}) }) as unknown as RestPorts & ManagePorts

const noMessagesPorts = noPorts as unknown as MessagesPorts

const provider = twilioTextProvider({ baseUrl: '', accountSid: '', authToken: '', sender: '' }, '')

/** A path with `{}` for each of its parameters. */
const shapeOf = (path: string): string => path.replaceAll(/:\w+|\{[^}]*\}/g, '{}').replace(/\?.*$/, '')

test('every call of the REST and management APIs is described, and every one that is described is there', (t) => {
  const calls = quotedIn(readmeNamed('app/http/README.md'))
    .filter((text) => /^(GET|POST|PATCH|PUT|DELETE) /.test(text) && !text.includes('{site}'))
    .map((text) => shapeOf(text.replace(' …', ' /accounts/{}')))
  const endpoints = [...restSurface(noPorts).endpoints, ...manageSurface(noPorts, '').endpoints]
  const real = endpoints.map(({ method, path }) => `${method} ${shapeOf(path)}`)
  t.true(real.length > 30)
  t.deepEqual(distinct(calls), distinct(real))
})

test('every address to which the provider of texts posts is told to the operators', (t) => {
  const told = matches(quotedIn(readmeNamed('app/README.md')).join('\n'), /^POST <PUBLIC_URL>(\/messaging\/\S+)$/gm)
  const { prefix, endpoints } = messagesSurface(noMessagesPorts, provider)
  const real = endpoints.map(({ path }) => `${prefix}${shapeOf(path)}`)
  t.deepEqual(distinct(told.map(shapeOf)), distinct(real))
})

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest units of a duration. */
const shownSeconds = (seconds: number): string => {
  let rest = seconds
  const parts = units.map(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? '' : `${count} ${unit}`
  })
  return parts
    .filter((part) => part !== '')
    .slice(0, 2)
    .join(' ')
}

test('the table of retries is the schedule', (t) => {
  let sum = 0
  const rows = Array.from({ length: deliveryRetries }, (_, index) => {
    const retry = index + 1
    const least = (millisecondsOf(nextDeliveryAttemptAt(retry, at(), 0)) - millisecondsOf(at())) / 1_000
    const jitter = Math.round(
      (millisecondsOf(nextDeliveryAttemptAt(retry, at(), 1)) - millisecondsOf(at())) / 1_000 - least,
    )
    sum += least
    return [`${retry}`, `${shownSeconds(least)}, and up to ${jitter} s more`, shownSeconds(sum)]
  })
  t.deepEqual(tableIn(readmeNamed('projections/delivery/README.md'), 'retry'), rows)
})

test('the queries for analysts fit the tables of the embedded store', (t) => {
  const { text } = readmeNamed('projections/README.md')
  const queries = matches(text, /^```sql\n([\s\S]*?)^```$/gm)
    .flatMap((block) => block.split(/;\n/))
    .filter((query) => query.trim() !== '')
  t.true(queries.length > 3)
  const database = new Database(':memory:')
  database.exec(schema)
  for (const projection of readModels) {
    const { name } = projection
    for (const statement of creation(collectionOf(projection), `${name}@1#1`)) database.exec(statement)
  }
  for (const query of queries) t.notThrows(() => database.prepare(query).all(), query)
  database.close()
})
