import test from 'ava'
import { serverWait, type ServerWait } from '../../../../app/composition/start/server-wait.js'
import type { StoreFailure } from '../../../../domain/ports.js'
import { E, type Either } from '../../../../domain/prelude.js'
import { StoreFailed } from '../../../../domain/store-failed.js'
import type { Documents } from '../../../../projections/ports.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { isOver, settled, turnTime } from '../../../kit/time/turns.js'

const away = { kind: 'unavailable', reason: 'the event store does not answer' } as const

type Waiting = ReturnType<ServerWait['waitingFor']>

const waits: Waiting = { EVENTSTORE_URL: away.reason }

const notYet: Waiting = { EVENTSTORE_URL: 'it has not answered yet' }

type Servers = { readonly named?: boolean; readonly mongo?: Documents['exists']; readonly refusal?: StoreFailure }

/** A start that names an event store, whose head is asked for so often in vain, and maybe a MongoDB. */
const open = (failures: ReadonlyArray<StoreFailure>, { named = true, mongo, refusal }: Servers = {}) => {
  const store = memoryEventStore(memoryLog())
  const documents = memoryDocuments(documentState())
  const logger = recordingLogger()
  const left = [...failures]
  const shown: Array<Waiting> = []
  const head = () => {
    shown.push(wait.waitingFor())
    const failure = left.shift()
    return failure === undefined ? store.head() : Promise.resolve(E.left(failure))
  }
  const stores = {
    store: { ...store, head },
    documents: { ...documents, exists: mongo ?? documents.exists },
    documentsFailure: () => undefined,
    eventStoreRefusal: () => Promise.resolve(refusal),
  }
  const config = { eventStoreUrl: named ? 'esdb://127.0.0.1:9' : undefined, mongoUrl: mongo && 'mongodb://127.0.0.1:9' }
  const wait = serverWait(config, stores, { monotonic: turnTime, logger })
  return { wait, shown, logger }
}

const nothing = (): Promise<Either<string, undefined>> => Promise.resolve(E.right(undefined))

test('a server is waited for as long as it takes, is named meanwhile, and is told of less and less often', async (t) => {
  const { wait, shown, logger } = open(Array.from({ length: 100 }, () => away))
  t.deepEqual(await wait.answered(nothing), E.right(undefined))
  t.is(shown.length, 101)
  t.deepEqual(shown, [notYet, ...Array.from({ length: 100 }, () => waits)])
  t.deepEqual(wait.waitingFor(), {})
  const told = logger.lines.filter(({ message }) => message === 'the start waits for a server')
  t.is(told.length, 7, 'after 1, 2, 4, … 64 looks')
  t.like(told[0]?.fields, { setting: 'EVENTSTORE_URL', reason: away.reason })
})

test('what waiting can not mend ends the start with a sentence that names the setting', async (t) => {
  const refused = { kind: 'unavailable', reason: 'the event store refuses the user or the password' } as const
  const { wait } = open([away, { ...refused, needsOperator: true }])
  t.deepEqual(await wait.answered(nothing), E.left(`EVENTSTORE_URL: ${refused.reason}.`))
})

test('all servers are named from the start, each until it has answered', async (t) => {
  const { wait } = open([], { mongo: () => new Promise<never>(() => undefined) })
  const MONGODB_URL = 'it has not answered yet'
  t.deepEqual(wait.waitingFor(), { ...notYet, MONGODB_URL })
  t.false(await isOver(wait.answered(nothing)))
  t.deepEqual(wait.waitingFor(), { MONGODB_URL })
})

test('a start whose servers answer at once tells nothing of them', async (t) => {
  const { wait, logger } = open([])
  t.deepEqual(await wait.answered(nothing), E.right(undefined))
  t.deepEqual(wait.waitingFor(), {})
  t.deepEqual(logger.lines, [])
})

test('what a node of a cluster refuses ends the start, whatever the cluster answers', async (t) => {
  const reason = 'the event store shows a certificate that is not trusted here'
  const refusal = { kind: 'unavailable', reason, needsOperator: true } as const
  const { wait } = open([away], { refusal })
  t.deepEqual(await wait.answered(nothing), E.left(`EVENTSTORE_URL: ${reason}.`))
})

for (const [other, mongo] of [
  ['never answers', () => new Promise<never>(() => undefined)],
  ['is away', () => Promise.resolve(E.left(away))],
] as const) {
  test(`a server that refuses ends the start while the other one ${other}, which is asked no more`, async (t) => {
    const refused = { kind: 'unavailable', reason: 'the event store refuses the user or the password' } as const
    let asked = 0
    const counted = () => {
      asked += 1
      return mongo()
    }
    const { wait } = open([away, { ...refused, needsOperator: true }], { mongo: counted })
    const answered = wait.answered(nothing)
    t.true(await isOver(answered))
    t.deepEqual(await answered, E.left(`EVENTSTORE_URL: ${refused.reason}.`))
    const before = asked
    await settled()
    t.is(asked, before)
  })
}

test('nothing is told of a server whose client is closed because the other one has refused', async (t) => {
  const refused = { kind: 'unavailable', reason: 'the event store refuses the user or the password' } as const
  let close = (): void => undefined
  const closed = new Promise<Either<StoreFailure, boolean>>((resolve) => {
    close = () => resolve(E.left({ kind: 'unavailable', reason: 'MongoDB can not be asked' }))
  })
  const { wait, logger } = open([{ ...refused, needsOperator: true }], { mongo: () => closed })
  t.deepEqual(await wait.answered(nothing), E.left(`EVENTSTORE_URL: ${refused.reason}.`))
  await settled()
  close()
  await settled()
  t.deepEqual(logger.lines, [])
})

test('a server that fails for a moment while a start compares is waited for', async (t) => {
  const { wait, logger } = open([])
  const shown: Array<Waiting> = []
  const check = (): Promise<Either<string, number>> => {
    shown.push(wait.waitingFor())
    return shown.length <= 3 ? Promise.reject(new StoreFailed(away)) : Promise.resolve(E.right(shown.length))
  }
  t.deepEqual(await wait.answered(check), E.right(4))
  const reading = { EVENTSTORE_URL: 'it answers, and the start reads what it must know of it' }
  t.deepEqual(shown, [reading, waits, waits, waits])
  t.deepEqual(wait.waitingFor(), {})
  t.deepEqual(
    logger.lines.map(({ fields }) => fields),
    [{ reason: away.reason }, { reason: away.reason }],
    'after 1 and 2 looks',
  )
})

test('what stays as it is, however often a start asks, is not waited for', async (t) => {
  let asked = 0
  const damaged = (): Promise<never> => {
    asked += 1
    return Promise.reject(new StoreFailed({ kind: 'corrupt', reason: 'the file is damaged' }))
  }
  await t.throwsAsync(open([]).wait.answered(damaged), { message: 'the file is damaged' })
  t.is(asked, 1)
  const full = (): Promise<never> =>
    Promise.reject(new StoreFailed({ kind: 'unavailable', reason: 'the disk is full' }))
  await t.throwsAsync(open([], { named: false }).wait.answered(full), { message: 'the disk is full' })
})

test('a server that has not answered within half a second is told of at once, and one from which a start reads for longer', async (t) => {
  const never = () => new Promise<never>(() => undefined)
  const silent = open([], { mongo: never })
  t.false(await isOver(silent.wait.answered(nothing)))
  const told = ({ logger }: typeof silent) => logger.lines.map(({ message, fields }) => [message, fields])
  const waits = 'the start waits for a server'
  t.deepEqual(told(silent), [[waits, { setting: 'MONGODB_URL', reason: 'it has not answered yet' }]])
  const slow = open([])
  t.false(await isOver(slow.wait.answered(never)))
  const reason = 'it answers, and the start reads what it must know of it'
  t.deepEqual(told(slow), [[waits, { reason }]])
  t.deepEqual(slow.wait.waitingFor(), { EVENTSTORE_URL: reason })
})
