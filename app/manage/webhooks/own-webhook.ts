import { stateOf } from '../../commands/states/current-states.js'
import { WebhookId } from '../../../domain/ids.js'
import type { CommandHandler } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { webhook, type KnownWebhook } from '../../../domain/webhook.js'
import type { Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { accountOf } from '../operator.js'

export const webhookNotFound: Problem = { kind: 'webhook-not-found' }

/** The webhook that a request names, of the account that it names. */
export const ownWebhook = async (
  commandHandler: CommandHandler,
  request: Request,
): Promise<Either<Problem, KnownWebhook>> => {
  const found = await accountOf(commandHandler, request)
  if (E.isLeft(found)) return found
  const webhookId = request.params['webhook_id']
  if (!WebhookId.is(webhookId)) return E.left(webhookNotFound)
  const owner = await stateOf(commandHandler, webhook, webhookId)
  if (E.isLeft(owner)) return owner
  const state = owner.right
  const isOwn = (state.kind === 'on' || state.kind === 'off') && state.accountId === found.right.accountId
  return isOwn ? E.right(state) : E.left(webhookNotFound)
}
