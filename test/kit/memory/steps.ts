/**
 * How a store in memory does what it is asked: each look at what is stored and each change of it goes through here, so
 * that a simulation can put it off, leave it undone, or never answer. `of` names a stream, a collection or the `log`.
 */
export type Steps = {
  readonly read: <A>(of: string, look: () => A) => Promise<A>
  /** What `put` writes is durable, and one step: nothing comes in between. */
  readonly write: <A>(of: string, put: () => A) => Promise<A>
}

export const atOnce: Steps = {
  read: async (_of, look) => Promise.resolve(look()),
  write: async (_of, put) => Promise.resolve(put()),
}
