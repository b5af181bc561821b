import { consentVerifier } from '../../../adapters/consent/verifier.js'
import { webhookClient } from '../../../adapters/webhook/client.js'
import type { Clock } from '../../../domain/ports.js'
import type { Config } from '../config.js'
import { outgoingMail } from './mail.js'
import { texting } from './texting.js'

/** Whatever this process calls: webhooks, mail, texts, and who verifies consents. */
export const outgoing = (config: Config, clock: Clock) => {
  const webhooks = webhookClient({ allowPrivate: config.allowPrivateWebhooks })
  const mail = outgoingMail(config)
  const texts = texting(config, clock)
  const close = (): void => {
    webhooks.close()
    mail.close()
    texts.close()
  }
  return {
    ...texts,
    webhookClient: webhooks,
    mailTransport: mail,
    consentVerifier: consentVerifier(config.consentVerifierUrl),
    close,
  }
}
