import { messageIdOf } from '../../../domain/derived-id.js'
import type { ContactId, EngagementId, MessageId } from '../../../domain/ids.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Request } from '../../http/endpoint.js'
import { idempotencyKeyIn } from '../../http/idempotency-key.js'
import { unopenableSecret, type Problem } from '../../http/problem.js'
import type { ManagePorts } from '../ports.js'

/** Of a message of the contact, or for the engagement: the same where the request is repeated under its `Idempotency-Key`. */
export const messageIdFor = (
  { vault, ids }: Pick<ManagePorts, 'vault' | 'ids'>,
  request: Request,
  sealedSecret: string,
  of: ContactId | EngagementId,
): Either<Problem, MessageId> => {
  const key = idempotencyKeyIn(request)
  if (E.isLeft(key)) return key
  if (key.right === undefined) return E.right(`msg_${ids.ulid()}` as const)
  const secret = vault.accountSecret(sealedSecret)
  return E.isLeft(secret) ? E.left(unopenableSecret) : E.right(messageIdOf(secret.right, of, key.right))
}
