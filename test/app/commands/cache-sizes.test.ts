import test from 'ava'
import { aggregateCache } from '../../../app/commands/aggregate-cache.js'
import type { Aggregates } from '../../../app/commands/aggregates.js'
import { documentSnapshots } from '../../../app/commands/snapshots.js'
import { inMemoryProjection } from '../../../app/commands/states/in-memory-projection.js'
import { neverAborted } from '../../../domain/abortable.js'
import { t as codec } from '../../../domain/codec.js'
import { beginning } from '../../../domain/event.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import type { CommandHandler, EventBatch, EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { playbookVersions } from '../../../projections/from-streams/playbook-versions.js'
import type { Documents } from '../../../projections/ports.js'
import { anyProjection, type Projection } from '../../../projections/projection.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { accountId, playbookId, positionAt } from '../../kit/domain/samples.js'
import { reachable } from '../../kit/parts/reachable.js'
import { turnTime } from '../../kit/time/turns.js'

/** States that take so many characters each: as small as most are, and as large as a delivery with a long body. */
const lengths = { small: 100, large: 500_000 }

type State = { readonly text: string }

const stateOf = (length: number): State => ({ text: 'x'.repeat(length) })
const evolver = { initial: stateOf(0), evolve: (state: State) => state }
const decider = { ...evolver, category: 'any', decide: () => E.right([]) }

/** Streams that are asked for one after the other. */
const asked = 1_000

/** In bytes of all that one cache holds. */
const most = 32_000_000

const isBounded = (held: number, length: number): boolean => held >= 10 && held * length <= most

test('aggregates are cached by their bytes, few large ones or many small ones', async (t) => {
  for (const length of Object.values(lengths)) {
    const { watch, count } = reachable()
    let loads = 0
    const load = () => {
      loads += 1
      const state = stateOf(length)
      watch(state)
      return Promise.resolve(E.right({ state, revision: 0, last: undefined }))
    }
    const cache = aggregateCache({ load, append: undefined } as unknown as Aggregates)
    for (let n = 0; n < asked; n += 1) await cache.load(evolver, `any-${n}`)
    const held = await count()
    t.true(length === lengths.small ? held === asked : isBounded(held, length), `${held} of ${length}`)
    await cache.load(evolver, `any-${asked - 1}`)
    t.is(loads, asked, 'the newest is cached')
  }
})

test('however many ids are asked for that nobody has, a cache that is full of streams keeps them', async (t) => {
  const isNobody = (stream: string): boolean => stream.startsWith('nobody')
  let loads = 0
  const load = (_: unknown, stream: string) => {
    loads += 1
    const state = stateOf(isNobody(stream) ? 0 : lengths.large)
    return Promise.resolve(E.right({ state, revision: isNobody(stream) ? 'no-stream' : 0, last: undefined }))
  }
  const cache = aggregateCache({ load, append: undefined } as unknown as Aggregates)
  // As many as it holds: one more and the oldest would go.
  const streams = Array.from({ length: 31 }, (_, n) => `any-${n}`)
  const ask = async (): Promise<void> => {
    for (const stream of streams) await cache.load(evolver, stream)
  }
  await ask()
  for (let n = 0; n < 20_000; n += 1) await cache.load(evolver, `nobody-${n}`)
  const before = loads
  await ask()
  t.is(loads, before)
})

test('the states that requests rest on are cached by their bytes, and ids that nobody has take no place', async (t) => {
  for (const length of Object.values(lengths)) {
    const { watch, count } = reachable()
    let loads = 0
    const load = (_: unknown, id: string) => {
      loads += 1
      const isThere = !id.startsWith('nobody')
      const state = stateOf(isThere ? length : 0)
      watch(state)
      return Promise.resolve(E.right({ state, revision: isThere ? 0 : 'no-stream', last: undefined }))
    }
    const { get } = inMemoryProjection({
      store: { head: () => Promise.resolve(E.right(beginning)) },
      load: load as unknown as CommandHandler['load'],
      monotonic: turnTime,
    })
    const isAcceptable = ({ text }: State): boolean => text !== ''
    for (let n = 0; n < asked; n += 1) await get(decider, `known-${n}`, isAcceptable)
    const held = await count()
    t.true(length === lengths.small ? held === asked : isBounded(held, length), `${held} of ${length}`)
    for (let n = 0; n < asked; n += 1) await get(decider, `nobody-${n}`, isAcceptable)
    t.is(await count(), held)
    t.is(loads, 2 * asked, 'each costs one read')
    await get(decider, `known-${asked - 1}`, isAcceptable)
    t.is(loads, 2 * asked)
  }
})

test('snapshots are cached by their bytes', async (t) => {
  const { watch, count } = reachable()
  const away = () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' } as const))
  const { save } = documentSnapshots({ prepare: away, get: away, apply: away })
  const format = { version: 1, codec: codec.type({ text: codec.string }) }
  for (let n = 0; n < asked; n += 1) {
    const state = stateOf(lengths.large)
    watch(state)
    save(format, `any-${n}`, { state, revision: n, last: { id: 'any', correlationId: 'any' } }, positionAt(n))
  }
  const held = await count()
  t.true(isBounded(held, lengths.large), `${held}`)
})

test('the settings that playbooks had are cached by their bytes', async (t) => {
  for (const length of Object.values(lengths)) {
    const { watch, count } = reachable()
    let reads = 0
    const read = () => {
      reads += 1
      const settings = { ...defaultSettings, title: 'x'.repeat(length), steps: [] }
      watch(settings.steps)
      const created = { type: 'PlaybookCreated', data: { account_id: accountId(), settings } }
      return Promise.resolve(E.right({ events: [created], revision: 0 }))
    }
    const settingsAt = playbookVersions({ read } as unknown as Pick<EventStore, 'read'>)
    for (let n = 0; n < asked; n += 1) await settingsAt(playbookId(n), 1)
    const held = await count()
    t.true(length === lengths.small ? held === asked : held > 0 && held * length <= most, `${held} of ${length}`)
    await settingsAt(playbookId(asked - 1), 1)
    t.is(reads, asked, 'the newest is cached')
  }
})

test('the documents of a read model that is built are cached by their bytes', async (t) => {
  const { watch, count } = reachable()
  const projection: Projection<State> = {
    name: 'large',
    version: 1,
    categories: ['conversion'],
    indexes: {},
    createdBy: new Set(),
    keyOf: ({ id }) => id,
    evolve: () => {
      const document = stateOf(lengths.large)
      watch(document)
      return document
    },
  }
  const batch = (n: number): EventBatch =>
    ({
      events: [{ id: `${n}`, type: 'ConversionDefined', stream: `conversion-${n}`, position: positionAt(n) }],
      position: positionAt(n),
    }) as unknown as EventBatch
  const history = async function* () {
    for (let n = 1; n <= asked; n += 1) yield await Promise.resolve(batch(n))
  }
  const held: Array<number> = []
  const apply = async () => {
    held.push(await count())
    return E.right(undefined)
  }
  const documents = {
    prepare: () => Promise.resolve(E.right(undefined)),
    confirmedCheckpoint: () => Promise.resolve(E.right(beginning)),
    getToFold: () => Promise.resolve(E.right(new Map())),
    apply,
  } as unknown as Documents
  await buildAlone({ projection: anyProjection(projection), documents }, { history }, neverAborted)
  t.true(held.length >= 10)
  // Beside those of the batch that is written.
  t.true(
    held.every((documents) => isBounded(documents - 100, lengths.large) || documents <= 200),
    held.join(),
  )
})
