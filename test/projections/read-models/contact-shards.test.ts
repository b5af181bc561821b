import test from 'ava'
import type { ContactId } from '../../../domain/ids.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { contactId } from '../../kit/domain/samples.js'

test('there are 16 shards of contacts, each with a name of its own', (t) => {
  t.is(contactShards.names.length, 16)
  t.is(new Set(contactShards.names).size, 16)
})

test('every contact lies in one of the shards, and each shard has some', (t) => {
  const contacts: ReadonlyArray<ContactId> = Array.from({ length: 100 }, (_, n) => contactId(n))
  t.deepEqual([...new Set(contacts.map(contactShards.of))].toSorted(), contactShards.names.toSorted())
})

test('a contact stays in its shard: what is due to it is stored under the shard', (t) => {
  t.is(contactShards.of('nct_01KF2Z6YQW8Q3M5R7T9VXABCDE'), 'contacts_8')
  t.is(contactShards.of(contactId(1)), 'contacts_1')
})
