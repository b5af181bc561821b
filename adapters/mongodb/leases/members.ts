import type { Db } from 'mongodb'
import type { Time } from '../../../domain/ports.js'

/** A member as the others see it. `beat` only has to change: nobody compares it, or any clock, with its own. */
export type MemberRecord = { readonly _id: string; readonly work: ReadonlyArray<string>; readonly beat: number }

/** The members, and which of them have stopped. Its methods throw what the driver throws. */
export type Beats = {
  readonly join: (id: string, work: ReadonlyArray<string>) => Promise<void>
  /** False when somebody took the member for dead and removed it. */
  readonly beat: (id: string, work: ReadonlyArray<string>) => Promise<boolean>
  readonly remove: (ids: ReadonlyArray<string>) => Promise<void>
  /** Everybody, as seen after this member's own beat of `sentAt` was acknowledged. */
  readonly look: (sentAt: number) => Promise<Seen>
}

export type Seen = { readonly living: ReadonlyArray<MemberRecord>; readonly dead: ReadonlyArray<string> }

type Sight = { readonly beat: number; readonly since: number }

/** A member is dead when its beat has stood still for `lease` milliseconds by our clock. */
export const beatsIn = (db: Db, { now }: Pick<Time, 'now'>, lease: number): Beats => {
  const members = db.collection<MemberRecord>('members')
  let sights: ReadonlyMap<string, Sight> = new Map()
  let beats = 0

  return {
    join: async (_id, work) => {
      await members.insertOne({ _id, work, beat: beats })
    },
    beat: async (_id, work) => {
      beats += 1
      return (await members.updateOne({ _id }, { $set: { work, beat: beats } })).matchedCount === 1
    },
    remove: async (ids) => {
      if (ids.length > 0) await members.deleteMany({ _id: { $in: ids } })
    },
    look: async (sentAt) => {
      const all = await members.find().toArray()
      const at = now()
      const sightOf = ({ _id, beat }: MemberRecord): Sight => {
        const before = sights.get(_id)
        return before?.beat === beat ? before : { beat, since: at }
      }
      sights = new Map(all.map((member) => [member._id, sightOf(member)]))
      const isDead = ({ _id }: MemberRecord): boolean => sentAt - (sights.get(_id)?.since ?? at) >= lease
      return {
        living: all.filter((member) => !isDead(member)),
        dead: all.filter(isDead).map(({ _id }) => _id),
      }
    },
  }
}
