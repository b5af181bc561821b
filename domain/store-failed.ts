import type { StoreFailure } from './ports.js'
import { E, type Either } from './prelude.js'

/** A failure of a store where no answer can carry it: inside an iteration, or at the start. Its message holds no value. */
export class StoreFailed extends Error {
  constructor({ reason }: StoreFailure) {
    super(reason)
  }
}

/** An event stands in the log that can't be decoded: asking again gives the same. */
export class UndecodableEvent extends StoreFailed {}

/** @throws StoreFailed */
export const orThrow = <A>(result: Either<StoreFailure, A>): A => {
  if (E.isLeft(result)) throw new StoreFailed(result.left)
  return result.right
}
