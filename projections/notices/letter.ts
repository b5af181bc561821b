import { maximalAttempts } from '../../domain/delivery.js'
import type { Instant } from '../../domain/instant.js'
import type { NoticeFacts } from '../../domain/notice.js'
import type { KnownWebhook } from '../../domain/webhook.js'
import type { Mail } from './sender.js'

/** What stands around a notice when it is sent. */
export type Surroundings = {
  /** Where clients reach the service, without a slash at the end. */
  readonly siteUrl: string
  /** The URL that the deliveries failed to, of which only the origin is told: the rest may hold a secret. */
  readonly url: string
  /** How the webhook is now. */
  readonly state: KnownWebhook['kind'] | 'removed'
  /** Deliveries that wait for the webhook now. */
  readonly waiting: number
}

/** What an admin or a manager reads (contract 6.6.4): since when, why, what is held, and how to turn it on again. */
export const letterOf = (facts: NoticeFacts, around: Surroundings): Pick<Mail, 'subject' | 'text'> => {
  const { account_id, webhook_id, turned_off_at, failing_since, reason } = facts
  const { origin } = new URL(around.url)
  const since = failing_since === undefined ? [] : [`Failing since: ${shown(failing_since)}`]
  const lines = [
    `The webhook ${webhook_id} to ${origin} was turned off:`,
    `one delivery failed ${maximalAttempts} times, and nothing is posted to it any more.`,
    '',
    ...since,
    `Turned off at: ${shown(turned_off_at)}`,
    `Why the last attempt failed: ${reason}`,
    '',
    ...outlook(new URL(`${around.siteUrl}/manage/v1/accounts/${account_id}/webhooks/${webhook_id}/turn_on`), around),
    '',
    `This goes to the admins and managers of the account ${account_id}.`,
  ]
  return { subject: `The webhook to ${origin} was turned off`, text: `${lines.join('\n')}\n` }
}

const outlook = (call: URL, { state, waiting }: Surroundings): ReadonlyArray<string> => {
  switch (state) {
    case 'on':
      return ['It was turned on again since: nothing is left to do.']
    case 'removed':
      return ['It was removed since: nothing is left to do.']
    case 'off':
      return [
        `Held for it now: ${waiting} ${waiting === 1 ? 'delivery' : 'deliveries'}.`,
        'New activity is held too: nothing is lost.',
        '',
        'Once the receiver answers again, turn it on. The call takes the operator key:',
        '',
        `POST ${call.href}`,
        '{"catch_up": true}',
        '',
        'true delivers what is held, then goes on with new activity.',
        'false skips what is held: only new activity is delivered.',
      ]
  }
}

const shown = (instant: Instant): string => `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`
