import type { Db } from 'mongodb'
import { OperationFailed } from '../failure.js'

/**
 * Collections that go by fixed names, and a field of each document in them. Where there are checkpoints of ours the
 * database is ours, whatever version made it.
 */
const fixed = [
  { name: 'checkpoints', field: 'position' },
  { name: 'generations', field: 'serial' },
  { name: 'leases', field: 'token' },
  { name: 'members', field: 'heartbeat' },
  { name: 'confirmations', field: 'count' },
] as const

/** Every document of ours has it, and none is looked at but one: nobody writes into a collection that is another's. */
const ofRecords = '_generation'

/** Whether a collection of the database holds documents, and they are not of Leadloop. */
const isForeign = async (db: Db, name: string, field: string = ofRecords): Promise<boolean> => {
  const one = await db.collection(name).findOne({}, { projection: { [field]: 1 } })
  return one !== null && !(field in one)
}

const refuse = (name: string): never => {
  const reason = `the collection ${name} holds documents of another application: name a database that is Leadloop's own, or rename that collection`
  throw new OperationFailed({ kind: 'unavailable', reason, needsOperator: true })
}

/**
 * Refuses a collection of another application that stands where documents of `name` would: they would be mixed, and a
 * promotion would drop it. It throws what the driver throws, too.
 */
export const refuseForeign = async (db: Db, name: string): Promise<void> => {
  if (await isForeign(db, name)) refuse(name)
}

/** The same before a first start writes anything: `names` are all that it will give to collections of documents. */
export const refuseForeignAmong = async (db: Db, names: ReadonlyArray<string>): Promise<void> => {
  const isOurs = (await db.collection('checkpoints').findOne({ position: { $exists: true } })) !== null
  for (const { name, field } of isOurs ? [] : fixed) if (await isForeign(db, name, field)) refuse(name)
  const registered = await db
    .collection<Generations>('generations')
    .find({ _id: { $in: [...names] } })
    .toArray()
  const own = new Set(registered.filter(hasPlainName).map(({ _id }) => _id))
  for (const name of names) if (!own.has(name)) await refuseForeign(db, name)
}

/** The generations of a collection, as they are registered under its name. */
type Generations = { readonly _id: string; readonly generations: ReadonlyArray<{ readonly stored: string }> }

/** Whether one stands under the plain name already. */
export const hasPlainName = ({ _id, generations }: Generations): boolean =>
  generations.some(({ stored }) => stored === _id)
