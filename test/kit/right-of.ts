import { E, type Either } from '../../domain/prelude.js'

/** What a result holds; a failure fails the test, with its kind. */
export const rightOf = <A>(result: Either<{ readonly kind: string }, A>): A => {
  if (E.isLeft(result)) throw new Error(`refused: ${result.left.kind}`)
  return result.right
}
