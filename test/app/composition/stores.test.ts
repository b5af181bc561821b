import test, { type ExecutionContext } from 'ava'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStores } from '../../../app/composition/stores.js'
import { E } from '../../../domain/prelude.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { runProgram } from '../../kit/parts/program.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import type { Opening, Where } from './opening-process.js'
import { positionAt } from '../../kit/domain/samples.js'

const program = new URL('opening-process.js', import.meta.url)

/** Opens stores in a process of its own; fails where anything but the outcome is said there, by whomever. */
const openedElsewhere = async (t: ExecutionContext, where: ReadonlyArray<Where>): Promise<ReadonlyArray<Opening>> => {
  const { code, stdout, stderr } = await runProgram(program, [JSON.stringify(where)])
  t.is(stderr, '')
  t.is(code, 0)
  return JSON.parse(stdout) as ReadonlyArray<Opening>
}

const means = () => ({ newId: () => 'member', logger: recordingLogger() })

/** Nobody listens there. */
const nowhere = { eventStoreUrl: 'esdb://127.0.0.1:9?tls=false', mongoUrl: 'mongodb://127.0.0.1:9/' } as const

const noEventStore: ReadonlyArray<string> = [
  '',
  'esdb://',
  'esdb://ada:pass-word@',
  'esdb://ada:pass-word@127.0.0.1:pass-word',
  'esdb://ada:pass-word@127.0.0.1:70000?tls=false',
  'esdb://ada:pass-word@127.0.0.1:0?tls=false',
  'esdb://ada:pass-word@127.0.0.1:-1?tls=false',
  'esdb://ada:pass-word@127.0.0.1:2113word?tls=false',
  'esdb://ada:pass-word@:2113?tls=false',
  'esdb://ada@127.0.0.1:2113',
  // The driver would ask for the address of a host `127.0.0.1/`.
  'esdb://ada:pass-word@127.0.0.1/?tls=false',
  'esdb://ada:pass-word@127.0.0.1:2113,127.0.0.2:70000',
  'esdb://ada:pass-word@127.0.0.1:2113,:2113',
  'esdb://ada:pass-word@127.0.0.1?tls=pass-word',
  'esdb://ada:pass-word@127.0.0.1?defaultDeadline=pass-word',
  'esdb://ada:pass-word@127.0.0.1?defaultDeadline=-1',
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

test('what is no connection string is refused in a sentence that names its setting, and no word of it', async (t) => {
  const dataDir = temporaryDirectory(t)
  for (const [setting, urls, where] of [
    ['EVENTSTORE_URL', noEventStore, (eventStoreUrl: string): Where => ({ dataDir, ...nowhere, eventStoreUrl })],
    ['MONGODB_URL', noMongo, (mongoUrl: string): Where => ({ dataDir, ...nowhere, mongoUrl })],
  ] as const) {
    const openings = await openedElsewhere(t, urls.map(where))
    for (const [index, url] of urls.entries()) {
      const { refusal = 'it was opened', lines = [] } = openings[index] ?? {}
      t.regex(refusal, new RegExp(`^${setting}: this is no [^.]+\\.$`), url)
      for (const word of ['ada', 'pass', 'word', '127']) t.false(refusal.includes(word), url)
      t.deepEqual(lines, [], url)
    }
  }
  t.false(existsSync(join(dataDir, 'leadloop.db')))
})

test('an option of MongoDB that would break what is read is refused in a sentence that names it, and no word of the URL', async (t) => {
  const dataDir = temporaryDirectory(t)
  const server = 'mongodb://ada:pass-word@127.0.0.1:9/?'
  const openings = await openedElsewhere(t, [
    { dataDir, ...nowhere, mongoUrl: `${server}readPreference=secondary` },
    { dataDir, ...nowhere, mongoUrl: `${server}retryWrites=false` },
  ])
  t.deepEqual(
    openings.map(({ refusal }) => refusal),
    [
      'MONGODB_URL: the option readPreference must be primary, or be left out.',
      'MONGODB_URL: the option retryWrites must be true, or be left out.',
    ],
  )
})

test('an option of EventStoreDB that would lose writes or events is refused in a sentence that names it, and no word of the URL', async (t) => {
  const dataDir = temporaryDirectory(t)
  const server = 'esdb://ada:pass-word@127.0.0.1:9?tls=false'
  const refusals = {
    'throwOnAppendFailure=false': 'the option throwOnAppendFailure must be true, or be left out.',
    'THROW_ON-append-failure=false': 'the option throwOnAppendFailure must be true, or be left out.',
    'throwOnAppendFailure=false&throwOnAppendFailure=true':
      'the option throwOnAppendFailure must be true, or be left out.',
    'nodePreference=follower': 'the option nodePreference must be leader, or be left out.',
    'nodePreference=random': 'the option nodePreference must be leader, or be left out.',
    'node_preference=Read-Only_Replica': 'the option nodePreference must be leader, or be left out.',
    'tls=true&tlsCAFile=/pass-word':
      'the option tlsCAFile must be the path of a file that can be read, or be left out.',
    'tls=true&tlsCAFile=/tmp': 'the option tlsCAFile must be the path of a file that can be read, or be left out.',
    // The driver takes both for one option that it does not know.
    'tls&throwOnAppendFailure=false': 'this is no connection string, or has an option that is not known.',
  }
  const openings = await openedElsewhere(
    t,
    Object.keys(refusals).map((options) => ({ dataDir, ...nowhere, eventStoreUrl: `${server}&${options}` })),
  )
  t.deepEqual(
    openings,
    Object.values(refusals).map((refusal) => ({ refusal: `EVENTSTORE_URL: ${refusal}`, lines: [] })),
  )
})

test('every option that the driver knows is accepted, and nothing is said about it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const file = join(dataDir, 'ca.crt')
  writeFileSync(file, '')
  const urls = [
    'esdb://127.0.0.1:9?tls=false',
    'esdb+discover://ada:pass%40word@one.example:2113?tls=true&tlsVerifyCert=true&nodePreference=Leader',
    'esdb://one.example,two.example:2114?tls=false&maxDiscoverAttempts=3&discoveryInterval=10&gossipTimeout=1',
    'esdb://one.example:1,two.example,?tls=false',
    'esdb://one.example/',
    // The driver trims each host.
    'esdb://ada:pass-word@one.example:2113, two.example:2113 ?tls=false',
    'esdb://127.0.0.1:9?TLS=false&keep_alive_interval=10000&keepAliveTimeout=10000&defaultDeadline=1000',
    `esdb://ada:pa?ss=word@127.0.0.1:9/?connectionName=leadloop&throwOnAppendFailure=true&tlsCAFile=${file}`,
  ]
  const openings = await openedElsewhere(
    t,
    urls.map((eventStoreUrl) => ({ dataDir, ...nowhere, eventStoreUrl })),
  )
  t.deepEqual(
    openings,
    urls.map(() => ({ lines: [] })),
  )
})

test('without a URL everything is embedded, and one process has it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const where = { dataDir, eventStoreUrl: undefined, mongoUrl: undefined }
  const { isShared, close, store } = rightOf(E.mapLeft((kind: string) => ({ kind }))(await openStores(where, means())))
  t.false(isShared)
  t.is(rightOf(await store.head()), positionAt(0))
  const second = await openStores(where, means())
  t.regex(E.isLeft(second) ? second.left : '', /^DATA_DIR: [^.]+\.$/)
  await close()
})

test('a folder that can not be used is refused in a sentence that names its setting', async (t) => {
  const file = join(temporaryDirectory(t), 'file')
  writeFileSync(file, '')
  for (const dataDir of [file, join(file, 'data')]) {
    const opened = await openStores({ dataDir, eventStoreUrl: undefined, mongoUrl: undefined }, means())
    t.regex(E.isLeft(opened) ? opened.left : '', /^DATA_DIR: [^.]+\.$/)
  }
  const opened = await openStores({ dataDir: file, eventStoreUrl: undefined, mongoUrl: undefined }, means())
  t.deepEqual(opened, E.left(`DATA_DIR: ${file} can't be used: it is a file and no folder.`))
})

test('with one URL the other half is embedded, and one process has it', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const dataDir = temporaryDirectory(t)
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

test('with both URLs nothing is embedded, and several processes may share it', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'none')
  const opened = await openStores({ dataDir, ...nowhere }, means())
  if (E.isLeft(opened)) return t.fail(opened.left)
  t.true(opened.right.isShared)
  await opened.right.close()
  t.false(existsSync(dataDir))
})
