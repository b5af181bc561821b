import test from 'ava'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { having, type Conversion } from '../kit/network/http.js'
import { openAccount, type Account } from '../kit/service/account.js'

const site = serviceForFile()

const listed = async (account: Account): Promise<ReadonlyArray<Conversion>> =>
  having(await account.rest('/conversions'), 'conversions')

test('an account starts with Quoted and Sold (contract 2.2 and 4.4)', async (t) => {
  const account = await openAccount(site)
  const answer = await account.rest('/conversions')
  t.is(answer.status, 200)
  t.deepEqual(Object.keys(answer.body), ['conversions'])
  const conversions = having(answer, 'conversions')
  t.deepEqual(
    conversions.map(({ title }) => title),
    ['Quoted', 'Sold'],
  )
  for (const conversion of conversions) {
    t.deepEqual(Object.keys(conversion).sort(), ['created_at', 'id', 'title', 'value'])
    t.regex(conversion.id, /^cnv_/)
    t.true(Number.isSafeInteger(conversion.value))
    t.regex(conversion.created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  }
})

test('custom conversions are listed as well, and ids never change (contract 2.2)', async (t) => {
  const account = await openAccount(site)
  const before = await listed(account)
  const id = await account.addConversion('Renewed', 12_500)
  const after = await listed(account)
  t.deepEqual(after.slice(0, 2), before)
  t.like(after[2], { id, title: 'Renewed', value: 12_500 })
  t.is(after.length, 3)
  t.deepEqual(await listed(account), after)
})

test('an account sees its own conversions only (contract 1)', async (t) => {
  const [one, other] = await Promise.all([openAccount(site), openAccount(site)])
  await other.addConversion('Theirs', 1)
  const theirs = new Set((await listed(other)).map(({ id }) => id))
  t.is(theirs.size, 3)
  t.deepEqual(
    (await listed(one)).filter(({ id }) => theirs.has(id)),
    [],
  )
})

test('the list is never paged, and stands in the order of created_at, then id', async (t) => {
  const account = await openAccount(site)
  const many = Array.from({ length: 510 }, (_, n) => n)
  const ids = await Promise.all(many.map((n) => account.addConversion(`Custom ${n}`, n)))
  const conversions = having(await account.rest('/conversions?limit=1&page=2'), 'conversions')
  t.is(conversions.length, many.length + 2)
  t.deepEqual(
    conversions
      .slice(2)
      .map(({ id }) => id)
      .sort(),
    [...ids].sort(),
  )
  const inOrder = [...conversions].sort((one, other) =>
    `${one.created_at} ${one.id}` < `${other.created_at} ${other.id}` ? -1 : 1,
  )
  t.deepEqual(conversions, inOrder)
})
