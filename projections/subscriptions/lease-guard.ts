import type { CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Documents } from '../ports.js'
import type { Lease } from './leases.js'

const lost: Either<StoreFailure, never> = E.left({ kind: 'unavailable', reason: 'another process has taken over' })

/** The same documents for the work under a lease: from when another process may hold it nothing is written. */
export const guardedDocuments = (documents: Documents, lease: Pick<Lease, 'isValid'>): Documents => {
  const guarded =
    <A extends ReadonlyArray<unknown>, B>(write: (...args: A) => Promise<Either<StoreFailure, B>>) =>
    (...args: A): Promise<Either<StoreFailure, B>> =>
      lease.isValid() ? write(...args) : Promise.resolve(lost)
  return {
    ...documents,
    prepare: guarded(documents.prepare),
    apply: guarded(documents.apply),
    promote: guarded(documents.promote),
    drop: guarded(documents.drop),
  }
}

/** The same commands for the work under a lease: from when another process may hold it nothing is executed. */
export const guardedCommandHandler = (handler: CommandHandler, lease: Lease): CommandHandler => ({
  load: handler.load,
  execute: (...args) => (lease.isValid() ? handler.execute(...args) : Promise.resolve(lost)),
})
