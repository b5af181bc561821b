import type { OpenAccount } from '../../../domain/account.js'
import type { AccountSecret } from '../../../domain/derived-id.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Request } from '../../http/endpoint.js'
import { idempotencyKeyIn } from '../../http/idempotency-key.js'
import { unopenableSecret, type Problem } from '../../http/problem.js'
import type { ManagePorts } from '../ports.js'

/**
 * An id that tells a repetition of the request: made of its `Idempotency-Key`, which nobody can make out from it.
 * Undefined where the request has none.
 */
export const keyedId = <Id>(
  { vault }: Pick<ManagePorts, 'vault'>,
  request: Request,
  { sealedSecret }: Pick<OpenAccount, 'sealedSecret'>,
  idOf: (secret: AccountSecret, key: string) => Id,
): Either<Problem, Id | undefined> => {
  const key = idempotencyKeyIn(request)
  if (E.isLeft(key)) return key
  if (key.right === undefined) return E.right(undefined)
  const secret = vault.accountSecret(sealedSecret)
  return E.isLeft(secret) ? E.left(unopenableSecret) : E.right(idOf(secret.right, key.right))
}
