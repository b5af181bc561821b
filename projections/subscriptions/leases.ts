import type { StoreFailure } from '../../domain/ports.js'
import type { Either } from '../../domain/prelude.js'

/** A lease on a name: at most one process holds it at a time. */
export type Lease = {
  readonly name: string
  /**
   * False from the moment when another process may hold it: asked before every write. Where it is given back in good
   * order it stays true until the work under it has ended.
   */
  readonly isValid: () => boolean
  /** Aborts when the work under it must end: it is to be given back, or it was lost. */
  readonly ending: AbortSignal
  /**
   * Aborts when it was lost, a little before another process may hold it: what is still open under it must be broken
   * off. Not where it is given back in good order.
   */
  readonly lost: AbortSignal
}

/** In milliseconds: longer than it takes to notice that the holder of a lease is gone. */
export const longestTakeover = 10_000

/** Whether the work under a lease must end, or another process may have taken it over. */
export const isEnding = (lease: Lease): boolean => lease.ending.aborted || !lease.isValid()

/** The part of this process among those that share work: it is one of the instances of the service. */
export type Membership = {
  /**
   * Shares `names` out among the living instances that do `work`: this one acquires leases up to its fair share, and
   * gives up what is above it when others join. A name belongs to one work. `begin` is called with each lease that is
   * acquired; what it returns resolves when the work under the lease has ended, after `ending` aborted; only then is
   * the name released for others.
   */
  readonly share: (work: string, names: () => ReadonlyArray<string>, begin: (lease: Lease) => Promise<void>) => void
  /**
   * Whether another living instance does `work`. Asked before anything is shared: who asks is no instance yet, so none
   * gives up a lease.
   */
  readonly isDoneElsewhere: (work: string) => Promise<Either<StoreFailure, boolean>>
  /** Gives everything back and leaves. */
  readonly leave: () => Promise<void>
}
