import { account, type AccountCommand } from '../../../domain/account.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { CommandHandler, EnvelopeFacts } from '../../../domain/ports.js'
import { webhook, type WebhookSettings } from '../../../domain/webhook.js'
import { accountId, deliveryId, openAccountCommand, webhookId, webhookSettings } from '../domain/samples.js'
import { rightOf } from '../right-of.js'

/** An account with one webhook, whose members are to be notified. */
type AccountWithWebhook = {
  readonly inAccount: (command: AccountCommand) => Promise<void>
  /** Gives the event. */
  readonly turnOff: () => Promise<RecordedEvent | undefined>
}

export const accountWithWebhook = async (
  { execute }: CommandHandler,
  envelope: EnvelopeFacts,
  settings: WebhookSettings = webhookSettings(),
): Promise<AccountWithWebhook> => {
  const inAccount = async (command: AccountCommand): Promise<void> => {
    rightOf(await execute(account, accountId(), command, envelope))
  }
  await inAccount(openAccountCommand)
  const add = { type: 'AddWebhook', webhookId: webhookId(), accountId: accountId(), settings } as const
  rightOf(await execute(webhook, webhookId(), add, envelope))
  return {
    inAccount,
    turnOff: async () => {
      const failed = { deliveryId: deliveryId(), reason: 'status 500', failingSince: undefined, version: 1 }
      return rightOf(await execute(webhook, webhookId(), { type: 'TurnOffWebhook', ...failed }, envelope)).events[0]
    },
  }
}
