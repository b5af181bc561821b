import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { categoriesOf, type DomainEvent, type RecordedEvent } from '../../domain/events.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import { categoryOf } from '../../domain/stream-name.js'
import type { AnyProjection } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { goldenEvents } from '../kit/domain/golden.js'
import { histories, type History } from '../kit/domain/histories.js'
import { logOf } from '../kit/domain/log.js'
import { holds } from '../kit/domain/property.js'
import { positionAt } from '../kit/domain/samples.js'
import { applied, documentsIn, project, type Held } from '../kit/parts/project.js'
import { rightOf } from '../kit/right-of.js'

const directory = join(process.cwd(), 'test', 'projections', 'golden')

// RECORD_READ_MODELS=1 writes what a version that has no file yet makes; a file that is there is never overwritten.
const isRecording = process.env['RECORD_READ_MODELS'] === '1'

const storedIn = (file: string): unknown => JSON.parse(readFileSync(join(directory, file), 'utf8'))

type Stored = Omit<RecordedEvent, keyof DomainEvent | 'position'> & {
  readonly type: string
  readonly data: unknown
  readonly position: number
}

const stored = storedIn('histories.json') as ReadonlyArray<ReadonlyArray<Stored>>

/** Each has a log of its own. */
const goldenHistories: ReadonlyArray<History> = stored.map((history) =>
  history.map(({ type, data, position, ...envelope }) => ({
    ...envelope,
    ...rightOf(decodeStoredEvent(type, envelope.schemaVersion, data)),
    position: positionAt(position),
  })),
)

const fileOf = ({ name, version }: AnyProjection): string => `${name}.v${version}.json`

for (const projection of readModels) {
  const { name, version } = projection
  test(`${name}: what the histories make is version ${version}, and what differs from it needs another version`, (t) => {
    const made = goldenHistories.map((history) => project(projection, history))
    const file = fileOf(projection)
    if (isRecording && !existsSync(join(directory, file)))
      writeFileSync(join(directory, file), `${JSON.stringify(made, null, 2)}\n`)
    t.deepEqual(made, storedIn(file))
  })
}

test('the versions of today have a file, and no others', (t) => {
  t.deepEqual(readdirSync(directory).toSorted(), ['histories.json', ...readModels.map(fileOf)].toSorted())
})

/** One of each shape that was ever stored. */
const everyEvent: History = logOf(
  ...goldenEvents().map(({ type, version, data }) => {
    const [category = ''] = categoriesOf(new Set([type]))
    return [`${category}-1`, rightOf(decodeStoredEvent(type, version, data))] as const
  }),
)

test('each type of event that concerns a read model stands in the histories', (t) => {
  const known = new Set(goldenHistories.flat().map(({ type }) => type))
  const concerning = readModels.flatMap(({ categories, keyOf }) =>
    everyEvent.filter((event) => categories.some((one) => one === categoryOf(event.stream)) && keyOf(event)),
  )
  const lacking = concerning.map(({ type }) => type).filter((type) => !known.has(type))
  t.deepEqual([...new Set(lacking)], [])
})

/** The types of those events that change a document. */
const foldedTypes = (projection: AnyProjection, history: History): ReadonlyArray<string> => {
  let held: Held = new Map()
  return history.flatMap((event) => {
    const before = documentsIn(held)
    held = applied(projection, held, [event])
    const key = projection.keyOf(event) ?? ''
    return JSON.stringify(documentsIn(held).get(key)) === JSON.stringify(before.get(key)) ? [] : [event.type]
  })
}

test('each type of event that changes a read model does so in the histories', (t) => {
  const covered = readModels.map(
    (projection) => new Set(goldenHistories.flatMap((history) => foldedTypes(projection, history))),
  )
  holds(
    t,
    fc.property(histories, (history) => {
      readModels.forEach((projection, index) => {
        const missing = foldedTypes(projection, history).filter((type) => covered[index]?.has(type) !== true)
        assert.deepEqual(missing, [], projection.name)
      })
    }),
  )
})
