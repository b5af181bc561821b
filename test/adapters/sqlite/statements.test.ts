import test from 'ava'
import Database from 'better-sqlite3'
import { readingOn } from '../../../adapters/sqlite/database.js'
import { reachable } from '../../kit/parts/reachable.js'
import { rightOf } from '../../kit/right-of.js'

test('statements on tables that come and go are kept up to a bound, and one that is in use all along is prepared once', async (t) => {
  const connection = new Database(':memory:')
  t.teardown(() => connection.close())
  const { watch, count } = reachable()
  const prepared: Array<string> = []
  const prepare = connection.prepare.bind(connection)
  connection.prepare = ((sql: string) => {
    const statement = prepare(sql)
    prepared.push(sql)
    watch(statement)
    return statement
  }) as typeof connection.prepare
  const read = readingOn(connection)
  for (let n = 0; n < 2_000; n += 1) {
    const inUse = read((statement) => statement<{ readonly one: number }>('SELECT 1 AS one').get())
    t.deepEqual(rightOf(inUse), { one: 1 })
    rightOf(read((statement) => statement(`SELECT 1 AS "table ${n}"`).get()))
  }
  t.is(prepared.filter((sql) => sql === 'SELECT 1 AS one').length, 1)
  t.true((await count()) <= 500)
})
