import type { Db } from 'mongodb'
import type { MonotonicClock } from '../../../domain/ports.js'

/**
 * An instance as the others see it. `heartbeat` only has to change: it is a count, and no clock is compared with it.
 */
export type InstanceRecord = { readonly _id: string; readonly work: ReadonlyArray<string>; readonly heartbeat: number }

export type InstanceStatus = { readonly living: ReadonlyArray<InstanceRecord>; readonly dead: ReadonlyArray<string> }

/** Its methods throw what the driver throws. */
export type Instances = {
  readonly join: (id: string, work: ReadonlyArray<string>) => Promise<void>
  /** False when another instance took this one for dead and removed it. */
  readonly heartbeat: (id: string, work: ReadonlyArray<string>) => Promise<boolean>
  readonly remove: (ids: ReadonlyArray<string>) => Promise<void>
  /** All instances, read after this instance's own heartbeat of `sentAt` was acknowledged. */
  readonly observe: (sentAt: number) => Promise<InstanceStatus>
}

/** A heartbeat of another instance, and since when it has not changed by our clock. */
type Observation = { readonly heartbeat: number; readonly since: number }

/** An instance is dead when its heartbeat has not changed for `lease` milliseconds by our clock. */
export const instancesIn = (db: Db, { now }: Pick<MonotonicClock, 'now'>, lease: number): Instances => {
  // The name of the collection stays: while a service is upgraded, processes of older versions use it too.
  const instances = db.collection<InstanceRecord>('members')
  let observations: ReadonlyMap<string, Observation> = new Map()
  let heartbeats = 0

  return {
    join: async (_id, work) => {
      await instances.insertOne({ _id, work, heartbeat: heartbeats })
    },
    heartbeat: async (_id, work) => {
      heartbeats += 1
      return (await instances.updateOne({ _id }, { $set: { work, heartbeat: heartbeats } })).matchedCount === 1
    },
    remove: async (ids) => {
      if (ids.length > 0) await instances.deleteMany({ _id: { $in: ids } })
    },
    observe: async (sentAt) => {
      const all = await instances.find().toArray()
      const at = now()
      const observationOf = ({ _id, heartbeat }: InstanceRecord): Observation => {
        const before = observations.get(_id)
        return before?.heartbeat === heartbeat ? before : { heartbeat, since: at }
      }
      observations = new Map(all.map((instance) => [instance._id, observationOf(instance)]))
      const isDead = ({ _id }: InstanceRecord): boolean => sentAt - (observations.get(_id)?.since ?? at) >= lease
      return {
        living: all.filter((instance) => !isDead(instance)),
        dead: all.filter(isDead).map(({ _id }) => _id),
      }
    },
  }
}
