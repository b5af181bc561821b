import type { Db } from 'mongodb'
import type { Time } from '../../../domain/ports.js'

/** A member as the others see it. `heartbeat` only has to change: it is a count, and no clock is compared with it. */
export type MemberRecord = { readonly _id: string; readonly work: ReadonlyArray<string>; readonly heartbeat: number }

export type MemberStatus = { readonly living: ReadonlyArray<MemberRecord>; readonly dead: ReadonlyArray<string> }

/** Its methods throw what the driver throws. */
export type Members = {
  readonly join: (id: string, work: ReadonlyArray<string>) => Promise<void>
  /** False when another member took this one for dead and removed it. */
  readonly heartbeat: (id: string, work: ReadonlyArray<string>) => Promise<boolean>
  readonly remove: (ids: ReadonlyArray<string>) => Promise<void>
  /** All members, read after this member's own heartbeat of `sentAt` was acknowledged. */
  readonly observe: (sentAt: number) => Promise<MemberStatus>
}

/** A heartbeat of another member, and since when it has not changed by our clock. */
type Observation = { readonly heartbeat: number; readonly since: number }

/** A member is dead when its heartbeat has not changed for `lease` milliseconds by our clock. */
export const membersIn = (db: Db, { now }: Pick<Time, 'now'>, lease: number): Members => {
  const members = db.collection<MemberRecord>('members')
  let observations: ReadonlyMap<string, Observation> = new Map()
  let heartbeats = 0

  return {
    join: async (_id, work) => {
      await members.insertOne({ _id, work, heartbeat: heartbeats })
    },
    heartbeat: async (_id, work) => {
      heartbeats += 1
      return (await members.updateOne({ _id }, { $set: { work, heartbeat: heartbeats } })).matchedCount === 1
    },
    remove: async (ids) => {
      if (ids.length > 0) await members.deleteMany({ _id: { $in: ids } })
    },
    observe: async (sentAt) => {
      const all = await members.find().toArray()
      const at = now()
      const observationOf = ({ _id, heartbeat }: MemberRecord): Observation => {
        const before = observations.get(_id)
        return before?.heartbeat === heartbeat ? before : { heartbeat, since: at }
      }
      observations = new Map(all.map((member) => [member._id, observationOf(member)]))
      const isDead = ({ _id }: MemberRecord): boolean => sentAt - (observations.get(_id)?.since ?? at) >= lease
      return {
        living: all.filter((member) => !isDead(member)),
        dead: all.filter(isDead).map(({ _id }) => _id),
      }
    },
  }
}
