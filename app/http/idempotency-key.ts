import { decode, optional, refined } from '../../domain/codec.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Request } from './endpoint.js'
import type { Problem } from './problem.js'

const IdempotencyKey = optional(
  refined(
    'a text of 1 to 255 characters',
    (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 255,
  ),
)

/** By which a client says that a request is the repetition of another; undefined where it gives none. */
export const idempotencyKeyIn = (request: Request): Either<Problem, string | undefined> => {
  const key = decode(IdempotencyKey, request.header('idempotency-key'))
  if (E.isRight(key)) return key
  return E.left({ kind: 'invalid', messages: [`Idempotency-Key must be ${IdempotencyKey.name}`] })
}
