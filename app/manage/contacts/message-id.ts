import type { OpenAccount } from '../../../domain/account.js'
import { messageIdOf } from '../../../domain/derived-id.js'
import type { ContactId, EngagementId, MessageId } from '../../../domain/ids.js'
import { E, pipe, type Either } from '../../../domain/prelude.js'
import type { Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import type { ManagePorts } from '../ports.js'
import { keyedId } from './keyed-id.js'

/**
 * Of a message of the contact, or for the engagement: the same where the request is repeated under its
 * `Idempotency-Key`.
 */
export const messageIdFor = (
  ports: Pick<ManagePorts, 'vault' | 'ids'>,
  request: Request,
  account: OpenAccount,
  of: ContactId | EngagementId,
): Either<Problem, MessageId> =>
  pipe(
    keyedId(ports, request, account, (secret, key) => messageIdOf(secret, of, key)),
    E.map((id): MessageId => id ?? `msg_${ports.ids.ulid()}`),
  )
