import { E, type Either } from '../../domain/prelude.js'

/** What a result holds; a failure fails the test, with its kind and reason. */
export const rightOf = <A>(result: Either<{ readonly kind: string; readonly reason?: unknown }, A>): A => {
  if (E.isLeft(result)) throw new Error(`refused: ${result.left.kind}, ${String(result.left.reason)}`)
  return result.right
}
