import test, { type ExecutionContext } from 'ava'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mock } from 'node:test'
import { openStores } from '../../../app/composition/stores.js'
import { E } from '../../../domain/prelude.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { rightOf } from '../../kit/right-of.js'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'

const directoryOf = async (t: ExecutionContext): Promise<string> => {
  const directory = await openTemporaryDirectory()
  t.teardown(directory.remove)
  return directory.path
}

/** What is said, in whatever way, while stores are opened. */
const listen = (t: ExecutionContext): { readonly said: () => string } => {
  const said: Array<unknown> = []
  const spies = (['log', 'info', 'warn', 'error'] as const).map((level) =>
    mock.method(console, level, (...all: ReadonlyArray<unknown>) => said.push(...all)),
  )
  const warn = (warning: Error): void => void said.push(warning.message)
  process.on('warning', warn)
  t.teardown(() => {
    for (const spy of spies) spy.mock.restore()
    process.off('warning', warn)
  })
  return { said: () => said.join('\n') }
}

type Line = { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }

const means = () => {
  const lines: Array<Line> = []
  const write = (fields: Line['fields'], message: string): void => void lines.push({ fields, message })
  const logger = { debug: write, info: write, warn: write, error: write }
  let ids = 0
  const newId = (): string => {
    ids += 1
    return `member-${ids}`
  }
  return { newId, logger, lines }
}

/** Nobody listens there. */
const nowhere = { eventStoreUrl: 'esdb://127.0.0.1:9?tls=false', mongoUrl: 'mongodb://127.0.0.1:9/' } as const

const noEventStore: ReadonlyArray<string> = [
  '',
  'esdb://',
  'esdb://ada:pass-word@',
  'esdb://ada:pass-word@127.0.0.1:pass-word',
  'esdb://ada:pass-word@127.0.0.1?tls=pass-word',
  'esdb://ada:pass-word@127.0.0.1?defaultDeadline=pass-word',
  'esdb://ada:pass-word@127.0.0.1?defaultDeadline=-1',
  'esdb://ada:pass-word@127.0.0.1?tlsCAFile=/pass-word',
  'esdb://ada:pass-word@127.0.0.1?tls=false&pass-word',
  'esdb://ada:pass-word@127.0.0.1?tls=false&tslCAFile=/some/where',
  'esdb://ada:pass-word@127.0.0.1?tls=true&tls_verify_cert=false',
  'esdb://ada:pass?word@127.0.0.1?nodePreferences=leader',
  'kurrentdb://ada:pass-word@127.0.0.1',
  'http://ada:pass-word@127.0.0.1',
]

const noMongo: ReadonlyArray<string> = [
  '',
  'mongodb://',
  'mongodb://ada:pass-word@',
  'mongodb://ada:pass-word@127.0.0.1:70000',
  'mongodb://ada:pass-word@127.0.0.1/?pass-word=1',
  'mongodb://ada:pass-word@127.0.0.1/%zz',
  'http://ada:pass-word@127.0.0.1',
]

test.serial(
  'what is no connection string is refused in a sentence that names its setting, and no word of it',
  async (t) => {
    const dataDir = await directoryOf(t)
    const { said } = listen(t)
    for (const [setting, urls, where] of [
      ['EVENTSTORE_URL', noEventStore, (eventStoreUrl: string) => ({ ...nowhere, eventStoreUrl })],
      ['MONGODB_URL', noMongo, (mongoUrl: string) => ({ ...nowhere, mongoUrl })],
    ] as const) {
      for (const url of urls) {
        const { lines, ...rest } = means()
        const opened = await openStores({ dataDir, ...where(url) }, rest)
        if (E.isRight(opened)) await opened.right.close()
        const sentence = E.isLeft(opened) ? opened.left : 'it was opened'
        t.regex(sentence, new RegExp(`^${setting}: this is no [^.]+\\.$`), url)
        for (const word of ['ada', 'pass', 'word', '127']) t.false(sentence.includes(word), url)
        t.deepEqual(lines, [], url)
      }
    }
    t.is(said(), '')
    t.false(existsSync(join(dataDir, 'leadloop.db')))
  },
)

test.serial('every option that the driver knows is taken, and nothing is said about it', async (t) => {
  const dataDir = await directoryOf(t)
  const { said } = listen(t)
  const file = join(dataDir, 'ca.crt')
  writeFileSync(file, '')
  for (const url of [
    'esdb://127.0.0.1:9?tls=false',
    'esdb+discover://ada:pass%40word@one.example:2113?tls=true&tlsVerifyCert=true&nodePreference=random',
    'esdb://one.example,two.example:2114?tls=false&maxDiscoverAttempts=3&discoveryInterval=10&gossipTimeout=1',
    'esdb://127.0.0.1:9?TLS=false&keep_alive_interval=10000&keepAliveTimeout=10000&defaultDeadline=1000',
    `esdb://ada:pa?ss=word@127.0.0.1:9/?connectionName=leadloop&throwOnAppendFailure=true&tlsCAFile=${file}`,
  ]) {
    const opened = await openStores({ dataDir, eventStoreUrl: url, mongoUrl: nowhere.mongoUrl }, means())
    t.true(E.isRight(opened), url)
    if (E.isRight(opened)) await opened.right.close()
  }
  t.is(said(), '')
})

test('without a URL everything is embedded, and one process has it', async (t) => {
  const dataDir = await directoryOf(t)
  const where = { dataDir, eventStoreUrl: undefined, mongoUrl: undefined }
  const { isShared, close, store } = rightOf(E.mapLeft((kind: string) => ({ kind }))(await openStores(where, means())))
  t.false(isShared)
  t.is(rightOf(await store.head()), 0n)
  const second = await openStores(where, means())
  t.regex(E.isLeft(second) ? second.left : '', /^DATA_DIR: [^.]+\.$/)
  await close()
})

test('a folder that can not be used is told by its setting', async (t) => {
  const file = join(await directoryOf(t), 'file')
  writeFileSync(file, '')
  const opened = await openStores({ dataDir: file, eventStoreUrl: undefined, mongoUrl: undefined }, means())
  t.regex(E.isLeft(opened) ? opened.left : '', /^DATA_DIR: [^.]+\.$/)
})

test.serial('with one URL the other half is embedded, and one process has it', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const dataDir = await directoryOf(t)
  const where = { dataDir, eventStoreUrl: double.url, mongoUrl: undefined }
  const opened = await openStores(where, means())
  if (E.isLeft(opened)) return t.fail(opened.left)
  const { store, documents, isShared, close } = opened.right
  t.false(isShared)
  t.true(E.isRight(await store.append('account-1', 'no-stream', [newEvent(1)])))
  t.is(double.log().length, 1)
  const collection = { name: 'log', version: 1, indexes: {}, generation: 'live' } as const
  t.true(E.isRight(await documents.prepare(collection)))
  t.true(existsSync(join(dataDir, 'leadloop.db')))
  await close()
})

test.serial('with both URLs nothing is embedded, and several processes may share it', async (t) => {
  const dataDir = join(await directoryOf(t), 'none')
  const opened = await openStores({ dataDir, ...nowhere }, means())
  if (E.isLeft(opened)) return t.fail(opened.left)
  t.true(opened.right.isShared)
  await opened.right.close()
  t.false(existsSync(dataDir))
})
