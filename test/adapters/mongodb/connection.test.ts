import test, { type ExecutionContext } from 'ava'
import { randomBytes } from 'node:crypto'
import dns from 'node:dns'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { mongoDocuments } from '../../../adapters/mongodb/documents.js'
import { connectMongo, type MongoConnection } from '../../../adapters/mongodb/client/connection.js'
import { E } from '../../../domain/prelude.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { hostOf, mongoUrl, urlAt } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { rightOf } from '../../kit/right-of.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { hello, mongoListener } from '../../kit/network/mongodb-listener.js'
import { breakNextWriteOf } from '../../kit/network/broken-write.js'
import { tcpProxy, type TcpProxy } from '../../kit/network/tcp-proxy.js'
import { sleep, until } from '../../kit/time/until.js'
import { positionAt } from '../../kit/domain/samples.js'
import { newIdentity } from '../webhook/certificates.js'

const collection: Collection = { name: 'contacts', version: 1, indexes: { by_group: ['group'] }, generation: 'live' }

/** Nothing listens there. */
const nowhere = 'mongodb://someone:pass-word@127.0.0.1:9/'

const databaseIn = async (url: string): Promise<string> => {
  const { db, close } = rightOf(connectMongo(url, recordingLogger()))
  await close()
  return db.databaseName
}

test('the path of the URL names the database, which is leadloop otherwise', async (t) => {
  const credentials = 'mongodb://user:p%40ss%2Fword@one.example:27017,two.example'
  t.is(await databaseIn('mongodb://127.0.0.1'), 'leadloop')
  t.is(await databaseIn('mongodb://127.0.0.1/'), 'leadloop')
  t.is(await databaseIn('mongodb://127.0.0.1/?replicaSet=rs0'), 'leadloop')
  t.is(await databaseIn('mongodb://127.0.0.1/leads?replicaSet=rs0'), 'leads')
  t.is(await databaseIn(`${credentials}/leads%2Dhere`), 'leads-here')
  t.is(await databaseIn(credentials), 'leadloop')
})

test('a URL that MongoDB does not know is refused, and nothing of it is told', (t) => {
  for (const url of ['', 'mongodb://', 'http://user:pass-word@host', 'mongodb://host/%zz', 'mongodb://h:70000000']) {
    t.deepEqual(connectMongo(url, recordingLogger()), E.left({ kind: 'unusable' }), url)
  }
})

test('an option that would break what a process reads of its own, or its leases, is refused by its name', (t) => {
  const server = 'mongodb://ada:pass-word@127.0.0.1:9/leads?replicaSet=rs0'
  for (const [given, option, must] of [
    ['readPreference=secondaryPreferred', 'readPreference', 'primary'],
    ['READPREFERENCE=nearest', 'readPreference', 'primary'],
    ['readPreferenceTags=dc:east', 'readPreference', 'primary'],
    ['readConcernLevel=majority', 'readConcernLevel', 'local'],
    ['readConcernLevel=available', 'readConcernLevel', 'local'],
    ['retryWrites=false', 'retryWrites', 'true'],
    ['journal=false', 'journal', 'true'],
    ['j=false', 'journal', 'true'],
    ['wtimeout=1', 'wtimeout', '4000'],
    ['maxPoolSize=1', 'maxPoolSize', '10 or more'],
    ['maxPoolSize=9', 'maxPoolSize', '10 or more'],
  ] as const) {
    const refused = E.left({ kind: 'unusable-option', option, must })
    t.deepEqual(connectMongo(`${server}&${given}`, recordingLogger()), refused, given)
  }
  // A replica set can't be named beside it.
  t.deepEqual(
    connectMongo('mongodb://127.0.0.1:9/leads?loadBalanced=true', recordingLogger()),
    E.left({ kind: 'unusable-option', option: 'loadBalanced', must: 'false' }),
  )
})

test('an option that names a file which can not be used is refused by its name, where TLS is on', async (t) => {
  const directory = temporaryDirectory(t)
  const notPem = join(directory, 'not.pem')
  writeFileSync(notPem, 'pass-word')
  const at = (given: string): ReturnType<typeof connectMongo> =>
    connectMongo(`mongodb://127.0.0.1:9/leads?${given}`, recordingLogger())
  const must = 'the name of a PEM file that can be read'
  for (const [option, file] of [
    ['tlsCAFile', join(directory, 'none.pem')],
    ['tlsCAFile', directory],
    ['tlsCRLFile', join(directory, 'none.pem')],
    ['tlsCRLFile', notPem],
    ['tlsCertificateKeyFile', join(directory, 'none.pem')],
    ['tlsCertificateKeyFile', notPem],
  ] as const) {
    const given = `${option}=${encodeURIComponent(file)}`
    t.deepEqual(at(`tls=true&${given}`), E.left({ kind: 'unusable-option', option, must }), given)
    await rightOf(at(given)).close()
  }
  const { cert, key } = newIdentity({ hosts: ['127.0.0.1'] }, undefined)
  const pem = join(directory, 'own.pem')
  writeFileSync(pem, `${cert}${key}`)
  await rightOf(
    at(`tls=true&tlsCAFile=${encodeURIComponent(pem)}&tlsCertificateKeyFile=${encodeURIComponent(pem)}`),
  ).close()
})

/** Options that change how values are written and read. */
const otherValues =
  'promoteValues=false&promoteLongs=false&useBigInt64=false&promoteBuffers=true&raw=true&bsonRegExp=true&ignoreUndefined=true&enableUtf8Validation=false'

const ourValues = {
  ...{ promoteValues: true, promoteLongs: true, useBigInt64: true, promoteBuffers: false },
  ...{ raw: false, bsonRegExp: false, ignoreUndefined: false, enableUtf8Validation: true },
}

test('an option with the value that is needed is accepted, and one that ours replace has no effect', async (t) => {
  const common = 'retryWrites=true&w=majority&journal=true&readPreference=primary&readConcernLevel=local'
  const ignored = `w=0&wtimeoutMS=1&socketTimeoutMS=1&minHeartbeatFrequencyMS=60000&${otherValues}`
  for (const given of ['', common, 'w=1', 'maxPoolSize=10', 'maxPoolSize=0', ignored]) {
    const { db, close } = rightOf(connectMongo(`mongodb://127.0.0.1:9/?${given}`, recordingLogger()))
    t.like(db.writeConcern, { w: 'majority', journal: true, wtimeoutMS: 4_000 }, given)
    t.like(db.client.options, { socketTimeoutMS: 5_000, minHeartbeatFrequencyMS: 500, ...ourValues }, given)
    t.like(db.readConcern, { level: 'local' }, given)
    await close()
  }
})

test('where no server answers every operation fails soon, and nothing of the address is told', async (t) => {
  const { db, close } = rightOf(connectMongo(nowhere, recordingLogger()))
  const documents = mongoDocuments(db)
  const attempts = [
    () => documents.prepare(collection),
    () => documents.exists(collection),
    () => documents.get(collection, ['k']),
    () => documents.find(collection, { index: 'by_group', equals: [], limit: 1 }),
    () => documents.count(collection),
    () => documents.apply(collection, [], positionAt(1)),
    () => documents.confirmedCheckpoint(collection),
    () => documents.checkpoint(collection),
    () => documents.promote(collection),
    () => documents.drop(collection),
  ]
  const reason = /^MongoDB can not be reached \(Mongo(ServerSelection|TopologyClosed)Error\)$/
  try {
    for (const attempt of attempts) {
      const result = await attempt()
      if (result._tag === 'Right') return t.fail()
      t.is(result.left.kind, 'unavailable')
      t.regex(result.left.reason, reason)
    }
    const walk = async (): Promise<void> => {
      for await (const _ of documents.all(collection)) t.fail()
    }
    await t.throwsAsync(walk, { message: reason })
  } finally {
    await close()
  }
})

for (const [title, url, onConnection, reason] of [
  ['nobody listens', nowhere, undefined, 'MongoDB can not be reached'],
  [
    'a server without TLS waits for more',
    '?tls=true',
    () => undefined,
    'MongoDB does not answer, or does not speak TLS',
  ],
  [
    'a server without TLS ends the connection',
    '?tls=true',
    (socket: Socket) => socket.destroy(),
    'MongoDB ends the connection before it is secure, and may not speak TLS',
  ],
  [
    'a server that wants TLS ends the connection',
    '',
    (socket: Socket) => socket.once('data', () => socket.end()),
    'MongoDB ends the connection before it answers, and may want TLS',
  ],
  ['a server hangs', '', () => undefined, 'MongoDB can not be reached'],
] as const) {
  test(`why no connection comes about is told as far as it can be known: ${title}`, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).resume()
      onConnection?.(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => void server.close())
    const { port } = server.address() as AddressInfo
    const at = url === nowhere ? url : `mongodb://ada:pass-word@127.0.0.1:${port}/${url}`
    const logger = recordingLogger()
    const { failure, close } = rightOf(connectMongo(at, logger))
    t.teardown(close)
    const told = `${reason} (MongoServerSelectionError)`
    // A busy machine may not have come so far when the first attempt ends.
    await until('it is told', 60_000, () => failure()?.reason === told)
    t.is(failure()?.kind, 'unavailable')
    t.deepEqual(logger.lines.at(-1)?.fields, { reason: told })
  })
}

test('a server is reached whose first answers take longer than anyone waits for one', async (t) => {
  const nothing = { ok: 1, cursor: { id: 0n, ns: 'leadloop.generations', firstBatch: [] } }
  const port = await mongoListener(t, { hello, find: nothing }, 1_500)
  const { db, close } = rightOf(connectMongo(`mongodb://127.0.0.1:${port}/`, recordingLogger()))
  t.teardown(close)
  const documents = mongoDocuments(db)
  await until('it is reached', 20_000, async () => E.isRight(await documents.exists(collection)))
  // Once it was reached nobody waits longer than before.
  t.like(db.client.options, { serverSelectionTimeoutMS: 1_000, waitQueueTimeoutMS: 2_000 })
})

test('a connection to a server that never answers is closed at once', async (t) => {
  const port = await mongoListener(t, { hello }, 600_000)
  const { failure, close } = rightOf(connectMongo(`mongodb://127.0.0.1:${port}/`, recordingLogger()))
  await until('it was tried', 20_000, () => failure() !== undefined)
  // In the midst of the next attempt, which is a longer one.
  await sleep(1_000)
  await soon(
    t,
    500,
    close().then(() => 'closed'),
  )
})

const tooOld = { ...hello, maxWireVersion: 8 }

for (const [title, others] of [
  ['alone', ''],
  ['beside one that is away', '127.0.0.1:9,'],
] as const) {
  test(`a MongoDB that is too old needs an operator: ${title}`, async (t) => {
    const port = await mongoListener(t, { hello: tooOld })
    const { failure, close } = rightOf(
      connectMongo(`mongodb://${others}127.0.0.1:${port}/?replicaSet=rs0`, recordingLogger()),
    )
    t.teardown(close)
    const reason = 'MongoDB is too old for the driver (MongoCompatibilityError)'
    // A busy machine may not have come so far when the first attempt ends.
    await until('it is told', 20_000, () => failure()?.reason === reason)
    t.deepEqual(failure(), { kind: 'unavailable', reason, needsOperator: true })
  })
}

const atlas = (errmsg: string) => ({ ok: 0, code: 8000, codeName: 'AtlasError', errmsg })

for (const [title, answers, isRefused] of [
  ['a password', { hello, saslStart: atlas('bad auth : Authentication failed.') }, true],
  ['a right', { hello, find: atlas('user is not allowed to do action [find] on [leadloop.generations]') }, true],
  ['space', { hello, find: atlas('you are over your space quota, using 513 MB of 512 MB') }, false],
] as const) {
  test(`the general error of Atlas is one of credentials only where it is about them: ${title}`, async (t) => {
    const port = await mongoListener(t, answers)
    const user = 'saslStart' in answers ? 'ada:pass-word@' : ''
    const { db, failure, close } = rightOf(connectMongo(`mongodb://${user}127.0.0.1:${port}/`, recordingLogger()))
    t.teardown(close)
    const asked = async () => {
      const answer = await mongoDocuments(db).exists(collection)
      return E.isLeft(answer) ? (failure() ?? answer.left) : undefined
    }
    // A busy machine may not have come so far when the first attempt ends.
    await until('it is told', 20_000, async () => (await asked())?.reason.includes('8000') === true)
    const sentence = isRefused ? 'MongoDB refused the credentials' : 'MongoDB failed'
    const told = { kind: 'unavailable', reason: `${sentence} (MongoServerError 8000)` }
    t.deepEqual(await asked(), isRefused ? { ...told, needsOperator: true } : told)
  })
}

test('an option that the driver can not carry out needs an operator: a package is missing', async (t) => {
  const port = await mongoListener(t, { hello })
  const url = `mongodb://ada:pass-word@127.0.0.1:${port}/?authMechanism=GSSAPI&authSource=$external`
  const { failure, close } = rightOf(connectMongo(url, recordingLogger()))
  t.teardown(close)
  await until('it is told', 20_000, () => failure()?.reason.includes('MongoMissingDependencyError') === true)
  const reason = 'an option of the URL of MongoDB needs a package that is not installed (MongoMissingDependencyError)'
  t.deepEqual(failure(), { kind: 'unavailable', reason, needsOperator: true })
})

test.serial('an option that the driver can not carry out needs an operator: by a name in DNS', async (t) => {
  const { resolve } = dns.promises
  t.teardown(() => void (dns.promises.resolve = resolve))
  const records: Readonly<Record<string, unknown>> = {
    SRV: [{ name: 'one.mongo.example.net', port: 9 }],
    TXT: [['readPreference=secondary']],
  }
  dns.promises.resolve = ((_: string, type: string) => Promise.resolve(records[type])) as typeof resolve
  const { failure, close } = rightOf(connectMongo('mongodb+srv://ada:pass-word@mongo.example.net/', recordingLogger()))
  t.teardown(close)
  await until('it is told', 20_000, () => failure() !== undefined)
  const reason = 'the driver of MongoDB refuses an option of the URL, or of its name in DNS (MongoParseError)'
  t.deepEqual(failure(), { kind: 'unavailable', reason, needsOperator: true })
})

test('operations fail after the connection is closed', async (t) => {
  const { db, close } = rightOf(connectMongo(nowhere, recordingLogger()))
  await close()
  t.true(E.isLeft(await mongoDocuments(db).exists(collection)))
  await close()
})

type Proxied = {
  readonly proxy: TcpProxy
  readonly documents: Documents
  readonly read: () => Promise<string>
  readonly write: () => Promise<string>
  /** Breaks the connection to which the next write goes in the moment before. Tells whether it has. */
  readonly breakNextWrite: () => () => boolean
}

/** What came of it, and that it came within `milliseconds`. */
const soon = async (t: ExecutionContext, milliseconds: number, attempt: Promise<string>): Promise<string> => {
  const start = performance.now()
  const outcome = await attempt
  const elapsed = performance.now() - start
  t.true(elapsed < milliseconds, `${elapsed} ms`)
  return outcome
}

if (mongoUrl === undefined) {
  test.skip('a MongoDB that comes and goes needs a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  /** Through a proxy that is away at first. */
  const behaviour = (title: string, check: (t: ExecutionContext, proxied: Proxied) => Promise<void>): void => {
    test(title, async (t) => {
      const { host, port } = hostOf(database.url)
      const proxy = await tcpProxy(host, port)
      const { db, close }: MongoConnection = rightOf(connectMongo(urlAt(database.url, proxy.port), recordingLogger()))
      const documents = mongoDocuments(db)
      const own = { ...collection, name: `connection_${randomBytes(6).toString('hex')}` }
      let position = 0
      const outcome = (result: E.Either<{ readonly kind: string }, unknown>): string =>
        E.isRight(result) ? 'done' : result.left.kind
      try {
        await check(t, {
          proxy,
          documents,
          breakNextWrite: () => breakNextWriteOf(t, own.name),
          read: async () => outcome(await documents.get(own, ['k'])),
          write: async () => {
            position += 1
            const prepared = await documents.prepare(own)
            if (E.isLeft(prepared)) return outcome(prepared)
            return outcome(
              await documents.apply(
                own,
                [{ key: 'k', document: {}, position: positionAt(position) }],
                positionAt(position),
              ),
            )
          },
        })
      } finally {
        await close()
        await proxy.takeAway()
      }
    })
  }

  test('what is read is what was written, however the URL would have values read', async (t) => {
    const url = `${database.url}${database.url.includes('?') ? '&' : '?'}${otherValues}`
    const { db, close } = rightOf(connectMongo(url, recordingLogger()))
    const documents = mongoDocuments(db)
    const own = { ...collection, name: `connection_${randomBytes(6).toString('hex')}` }
    const document = { group: 'g', at: '2026-01-15T12:00:00.000Z', count: 3, share: 0.5, list: [1, { inner: null }] }
    try {
      await until('it is prepared', 60_000, async () => E.isRight(await documents.prepare(own)))
      rightOf(await documents.apply(own, [{ key: 'k', document, position: positionAt(7) }], positionAt(8)))
      const found = rightOf(await documents.find(own, { index: 'by_group', equals: ['g'], limit: 2 }))
      t.deepEqual(found, [{ key: 'k', document }])
      t.is(rightOf(await documents.confirmedCheckpoint(own)), positionAt(8))
    } finally {
      await close()
    }
  })

  behaviour('a server that is there only later is found then', async (t, { proxy, read, write }) => {
    t.is(await soon(t, 2_000, read()), 'unavailable')
    t.is(await soon(t, 2_000, write()), 'unavailable')
    await proxy.bringBack()
    await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
    t.is(await read(), 'done')
  })

  behaviour(
    'operations fail soon where the server goes away, and succeed again when it is back',
    async (t, { proxy, read, write }) => {
      await proxy.bringBack()
      await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
      for (let outage = 0; outage < 2; outage += 1) {
        await proxy.takeAway()
        const all = Array.from({ length: 40 }, (_, n) => soon(t, 2_500, n % 2 === 0 ? read() : write()))
        t.deepEqual([...new Set(await Promise.all(all))], ['unavailable'])
        await proxy.bringBack()
        await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
        t.is(await soon(t, 1_000, read()), 'done')
      }
    },
  )

  behaviour(
    'an operation whose connection breaks while it is written fails in time too, and others succeed afterwards',
    async (t, { proxy, breakNextWrite, write }) => {
      await proxy.bringBack()
      await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
      const isBroken = breakNextWrite()
      t.is(await soon(t, 40_000, write()), 'unavailable')
      t.true(isBroken())
      await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
    },
  )

  // Before the others: each of them ends its sessions when it closes.
  test.serial('a connection that breaks while its client is closed does not hold up the close', async (t) => {
    const { db, close } = rightOf(connectMongo(database.url, recordingLogger()))
    t.true(E.isRight(await mongoDocuments(db).exists(collection)))
    const topology = Reflect.get(db.client, 'topology') as { readonly close: () => void }
    // What the close leaves open ends with the process, which goes on here.
    t.teardown(() => topology.close())
    const isBroken = breakNextWriteOf(t, 'endSessions')
    t.is(
      await soon(
        t,
        15_000,
        close().then(() => 'closed'),
      ),
      'closed',
    )
    t.true(isBroken())
  })

  behaviour(
    'operations fail in time where the server hangs, and succeed again afterwards',
    async (t, { proxy, read, write }) => {
      await proxy.bringBack()
      await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
      proxy.silence()
      const all = Array.from({ length: 10 }, (_, n) => soon(t, 11_000, n % 2 === 0 ? read() : write()))
      t.deepEqual([...new Set(await Promise.all(all))], ['unavailable'])
      t.is(await soon(t, 2_500, read()), 'unavailable')
      t.is(await soon(t, 2_500, write()), 'unavailable')
      await proxy.bringBack()
      await until('it comes back', 4_000, write, (outcome) => outcome === 'done')
      t.is(await soon(t, 1_000, read()), 'done')
    },
  )
}
