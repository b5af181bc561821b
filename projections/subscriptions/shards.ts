/** Parts that work is divided into: one process at a time holds the lease on a shard, which has the shard's name. */
type Shards<Id extends string> = {
  readonly names: ReadonlyArray<string>
  /** The name of its shard. It is stored and agreed on between processes, so it stays the same in every version. */
  readonly of: (id: Id) => string
}

/** `hashed` gives the part of an id that spreads evenly, even where many ids are made at once. */
export const shards = <Id extends string>(prefix: string, count: number, hashed: (id: Id) => string): Shards<Id> => ({
  names: Array.from({ length: count }, (_, n) => `${prefix}_${n}`),
  of: (id) => {
    const text = hashed(id)
    let hash = 0
    for (let index = 0; index < text.length; index += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) >>> 0
    return `${prefix}_${hash % count}`
  },
})
