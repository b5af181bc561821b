import test from 'ava'
import Database from 'better-sqlite3'
import { creation, differentValues } from '../../../adapters/sqlite/documents/sql.js'
import { schema } from '../../../adapters/sqlite/schema.js'
import { collectionOf } from '../../../projections/projection.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'

const collection = collectionOf(deliveries)

for (const index of ['due', 'backlog', 'resends']) {
  test(`the webhooks that have deliveries in ${index} are found by leaps in the index: none of the others is looked at`, (t) => {
    const database = new Database(':memory:')
    database.exec(schema)
    for (const statement of creation(collection, 'table')) database.exec(statement)
    const explained = database.prepare<[], { readonly detail: string }>(
      `EXPLAIN QUERY PLAN ${differentValues(collection, 'table', index)}`,
    )
    const plan = explained.all().map(({ detail }) => detail)
    const looks = plan.filter((detail) => / table /.test(detail))
    t.is(looks.length, 2)
    t.deepEqual(
      looks.filter((detail) => !/^SEARCH table USING COVERING INDEX table\/\w+( \(\w+>\?\))?$/.test(detail)),
      [],
      plan.join('\n'),
    )
  })
}
