import type { WebhookNotice } from '../../domain/notice.js'
import { mostAttempts } from '../../domain/retry-schedule.js'
import { mostCounted } from '../ports.js'
import { readableTime } from './readable-time.js'
import type { Mail } from './mail-transport.js'
import type { EmailContext } from './webhook-email-context.js'

/** What an admin or a manager reads (contract 6.6.4): since when, why, what is held, and how to turn it on again. */
export const webhookEmail = (facts: WebhookNotice, context: EmailContext): Pick<Mail, 'subject' | 'text'> => {
  const { account_id, webhook_id, turned_off_at, failing_since, reason } = facts
  const { origin } = new URL(context.url)
  const since = failing_since === undefined ? [] : [`Failing since: ${readableTime(failing_since)}`]
  const lines = [
    `The webhook ${webhook_id} to ${origin} was turned off:`,
    `one delivery failed ${mostAttempts} times, and nothing is posted to it any more.`,
    '',
    ...since,
    `Turned off at: ${readableTime(turned_off_at)}`,
    `Why the last attempt failed: ${reason}`,
    '',
    ...outlook(new URL(`${context.siteUrl}/manage/v1/accounts/${account_id}/webhooks/${webhook_id}/turn_on`), context),
    '',
    `This goes to the admins and managers of the account ${account_id}.`,
  ]
  return { subject: `The webhook to ${origin} was turned off`, text: `${lines.join('\n')}\n` }
}

const outlook = (call: URL, { state, waiting }: EmailContext): ReadonlyArray<string> => {
  switch (state) {
    case 'on':
      return ['It was turned on again since: nothing is left to do.']
    case 'removed':
      return ['It was removed since: nothing is left to do.']
    case 'off':
      return [
        ...(waiting === undefined ? [] : [`Held for it now: ${counted(waiting)}.`]),
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

const counted = (deliveries: number): string =>
  `${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}${deliveries < mostCounted ? '' : ' or more'}`
