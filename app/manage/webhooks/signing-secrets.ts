import { day } from '../../../domain/duration.js'
import { WebhookId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { flow, TE } from '../../../domain/prelude.js'
import { webhook, type NewSigningSecret } from '../../../domain/webhook.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, execute, pathId, withoutFields } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { webhookNotFound } from './webhook-in-path.js'

/** Replacing the secret that signs what a webhook is sent. */
export const signingSecretEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/signing_secret',
    handle: flow(
      withAccount(ports),
      pathId('webhook_id', WebhookId, webhookNotFound),
      withoutFields(),
      TE.let('secret', () => newSigningSecret(ports)),
      execute(({ account: { accountId }, webhook_id, secret: { signing }, caller }) =>
        ports.clientCommands.execute(
          webhook,
          webhook_id,
          { type: 'IssueSigningSecret', accountId, signing },
          caller.actor,
        ),
      ),
      answer(201, ({ webhook_id, secret: { shown, signing } }) => ({
        webhook: { id: webhook_id, signing_secret: shown, previous_until: signing.previousUntil },
      })),
    ),
  },
]

/** Milliseconds that the replaced secret goes on signing beside the new one: time to tell the receiver. */
const overlap = day

/** `shown`: shown once, in the form of Standard Webhooks; `signing` is what is stored, sealed. */
export const newSigningSecret = ({
  ids,
  vault,
  clock,
}: ManagePorts): { readonly shown: string; readonly signing: NewSigningSecret } => {
  const secret = Buffer.from(ids.secret(), 'base64url').toString('base64')
  return {
    shown: `whsec_${secret}`,
    signing: { sealed: vault.seal(secret), previousUntil: later(clock.now(), overlap) },
  }
}
