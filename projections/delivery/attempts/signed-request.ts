import { millisecondsOf } from '../../../domain/instant.js'
import type { Clock, Vault } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { signingSecretsAt, type KnownWebhook } from '../../../domain/webhook.js'
import type { WebhookRequest } from '../webhook-client.js'

/**
 * A request to a webhook, with its token and the signatures of Standard Webhooks: each signing secret that is valid now
 * signs the id, the time and the body. `id` is the same on every attempt of one delivery.
 */
export const signedRequest = (
  { vault, clock }: { readonly vault: Vault; readonly clock: Clock },
  { settings, signingSecrets }: KnownWebhook,
  id: string,
  body: string,
): Either<{ readonly kind: 'unsealable' }, WebhookRequest> => {
  const token = vault.open(settings.sealed_token)
  if (E.isLeft(token)) return token
  const now = clock.now()
  const timestamp = Math.floor(millisecondsOf(now) / 1000)
  const signatures = signingSecretsAt(signingSecrets, now).flatMap((secret) => {
    const signed = vault.sign(secret, `${id}.${timestamp}.${body}`)
    return E.isLeft(signed) ? [] : [signed.right]
  })
  return E.right({ url: settings.url, token: token.right, body, id, timestamp, signature: signatures.join(' ') })
}
