import { MongoClient, type Collection, type Document } from 'mongodb'
import type { Command } from './command.js'

type Keyed = Document & { readonly _id: string }

/**
 * What becomes of writes where the primary may change: an acknowledged one stays, and with it all that came before it.
 */
type ReplicaSet = {
  /** Called before a command is done that no majority acknowledges. */
  readonly beforeUnacknowledged: (command: Command) => Promise<void>
  /** A command was answered that a majority acknowledges, where it changed something. */
  readonly acknowledge: (command: Command, answer: Document) => void
  /** What was not acknowledged by then is undone. */
  readonly elect: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The members of a replica set whose primary is the server at `url`. */
export const replicaSet = (url: string): ReplicaSet => {
  const client = new MongoClient(url, { useBigInt64: true })
  let undo: ReadonlyArray<() => Promise<unknown>> = []

  return {
    beforeUnacknowledged: async (command) => {
      const records = client.db(String(command.document['$db'])).collection<Keyed>(command.collection)
      for (const key of keysOf(command)) {
        const before = await records.findOne({ _id: key })
        undo = [...undo, () => restore(records, key, before)]
      }
    },
    acknowledge: (command, answer) => {
      if (changedSomething(command, answer)) undo = []
    },
    elect: async () => {
      for (const one of undo.toReversed()) await one()
      undo = []
    },
    close: () => client.close(),
  }
}

const restore = (records: Collection<Keyed>, key: string, before: Keyed | null): Promise<unknown> =>
  before === null ? records.deleteOne({ _id: key }) : records.replaceOne({ _id: key }, before, { upsert: true })

/** The keys that a command writes to; each of our writes names one. */
const keysOf = ({ document }: Command): ReadonlyArray<string> => {
  const updates = (document['updates'] ?? []) as ReadonlyArray<{ readonly q: Keyed }>
  const inserts = (document['documents'] ?? []) as ReadonlyArray<Keyed>
  return [...updates.map(({ q }) => q._id), ...inserts.map(({ _id }) => _id)]
}

/** A write that changes nothing is no entry of the log that the members share. */
const changedSomething = ({ name }: Command, { n, nModified, upserted }: Document): boolean =>
  name === 'insert' || name === 'delete' ? Number(n) > 0 : Number(nModified ?? 0) > 0 || upserted !== undefined
