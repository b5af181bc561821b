import { objectWith, t } from '../../../domain/codec.js'
import { flow } from '../../../domain/prelude.js'
import { webhook } from '../../../domain/webhook.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, execute, withBody } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { withWebhook } from './webhook-in-path.js'
import { shownWebhook } from './webhooks.js'

const TurnOnRequest = objectWith({ catch_up: t.boolean })

/** Turning a webhook on again; what was not delivered meanwhile is caught up with, or skipped. */
export const turningOnEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/turn_on',
    handle: flow(
      withWebhook(ports),
      withBody(TurnOnRequest),
      execute(({ webhook: { accountId, webhookId }, body, caller: { actor } }) => {
        const command = { type: 'TurnOnWebhook', accountId, catchUp: body.catch_up, by: actor } as const
        return ports.clientCommands.execute(webhook, webhookId, command, actor)
      }),
      answer(200, ({ result }) => ({ webhook: shownWebhook(result.state) })),
    ),
  },
]
