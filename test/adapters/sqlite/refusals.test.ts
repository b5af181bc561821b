import test from 'ava'
import type { SqliteDatabase } from '../../../adapters/sqlite/database.js'
import { codeOf, storeFailure } from '../../../adapters/sqlite/failure.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { finalReason } from '../../../projections/parking/final-failure.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { openIn } from '../../kit/stores/sqlite.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

type Write = Parameters<SqliteDatabase['write']>[0]

const insertion = (position: string, schemaVersion: string): Write => ({
  kind: 'schema',
  statements: [
    `INSERT INTO events (position, stream, revision, category, id, type, time, correlation_id, causation_id, schema_version, actor, data)
     VALUES (${position}, 'any-1', 0, 'any', 'any', 'Any', 'any', 'any', 'any', ${schemaVersion}, 'any', '{}')`,
  ],
})

test('what the database refuses for good is never tried again, and fails nothing that is committed with it', async (t) => {
  const database = await openIn(temporaryDirectory(t))
  t.teardown(database.close)
  const store = sqliteEventStore(database)
  const codes = {
    SQLITE_CONSTRAINT_DATATYPE: insertion('1000', "'no number'"),
    SQLITE_MISMATCH: insertion("'no number'", '1'),
    SQLITE_CONSTRAINT_NOTNULL: insertion('1000', 'NULL'),
  } as const
  let n = 0
  for (const [code, wrong] of Object.entries(codes)) {
    n += 1
    const [refused, appended] = await Promise.all([
      database.write(wrong),
      store.append(`account-${n}`, 'no-stream', [newEvent(n)]),
    ])
    t.deepEqual(refused, E.left({ kind: 'corrupt', reason: `the database refuses it (${code})` }))
    t.true(E.isRight(appended), code)
    if (E.isLeft(refused)) {
      t.is(finalReason(new StoreFailed(refused.left)), refused.left.reason, 'a process manager parks what needs it')
    }
  }
})

test('where a user may not write, the operator is told of the rights, and of the disk only where it may be the disk', (t) => {
  const rights = 'this user can open or make no file there, such as where the folder is of another user'
  for (const code of ['SQLITE_CANTOPEN', 'EACCES', 'EPERM']) t.is(storeFailure(code).reason, `${rights} (${code})`)
  t.is(storeFailure('EROFS').reason, 'the disk is read-only (EROFS)')
  const either = 'the disk is read-only, or this user may not write the file'
  for (const code of ['SQLITE_READONLY', 'SQLITE_READONLY_DIRECTORY']) {
    t.is(storeFailure(code).reason, `${either} (${code})`)
  }
})

test('where the driver has no binary that this Node can load, whoever installs it is told so', (t) => {
  const isOfAnotherNode = Object.assign(new Error('words'), { code: 'ERR_DLOPEN_FAILED' })
  // As the package `bindings`, by which the driver finds its binary, throws it.
  const isNowhere = Object.assign(new Error('words'), { tries: ['somewhere'] })
  for (const error of [isOfAnotherNode, isNowhere]) {
    const reason = 'better-sqlite3 has no binary for this version of Node, which `npm ci` installs (ERR_DLOPEN_FAILED)'
    t.deepEqual(storeFailure(codeOf(error)), { kind: 'unavailable', reason })
  }
})
