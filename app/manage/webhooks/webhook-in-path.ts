import { WebhookId } from '../../../domain/ids.js'
import { E, type Either } from '../../../domain/prelude.js'
import { webhook, type KnownWebhook } from '../../../domain/webhook.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { bind, type HasRequest } from '../../http/steps.js'
import { accountOf } from '../account-in-path.js'
import type { ManagePorts } from '../ports.js'

export const webhookNotFound: Problem = { kind: 'webhook-not-found' }

/** Adds the `webhook` that the path names, of the account that it names. */
export const withWebhook = <Context extends HasRequest>({ commandHandler }: Pick<ManagePorts, 'commandHandler'>) =>
  bind('webhook', ({ request }: Context) => webhookOf(commandHandler, request))

const webhookOf = async (
  commandHandler: ManagePorts['commandHandler'],
  request: Request,
): Promise<Either<Problem, KnownWebhook>> => {
  const found = await accountOf(commandHandler, request)
  if (E.isLeft(found)) return found
  const webhookId = request.params['webhook_id']
  if (!WebhookId.is(webhookId)) return E.left(webhookNotFound)
  const owner = await loadState(commandHandler, webhook, webhookId)
  if (E.isLeft(owner)) return owner
  const state = owner.right
  const isOwn = (state.kind === 'on' || state.kind === 'off') && state.accountId === found.right.accountId
  return isOwn ? E.right(state) : E.left(webhookNotFound)
}
