import test from 'ava'
import { webhookEmail } from '../../../projections/notices/webhook-email.js'
import type { EmailContext } from '../../../projections/notices/webhook-email-context.js'
import { accountId, at, noticeFacts, webhookId } from '../../kit/domain/samples.js'

const context: EmailContext = {
  siteUrl: 'https://leads.example.com/base',
  url: 'https://user:word@receiver.example:8443/hook-path?key=secret',
  state: 'off',
  waiting: 12,
}
const facts = noticeFacts({ failing_since: at(-327_000_000), turned_off_at: at(1234), reason: 'status 503' })

test('an e-mail says since when and why, what is held, and how to turn the webhook on again (contract 6.6.4)', (t) => {
  const { subject, text } = webhookEmail(facts, context)
  t.is(subject, 'The webhook to https://receiver.example:8443 was turned off')
  t.is(
    text,
    `The webhook ${webhookId()} to https://receiver.example:8443 was turned off:
one delivery failed 19 times, and nothing is posted to it any more.

Failing since: 2026-01-11 17:10:00 UTC
Turned off at: 2026-01-15 12:00:01 UTC
Why the last attempt failed: status 503

Held for it now: 12 deliveries.
New activity is held too: nothing is lost.

Once the receiver answers again, turn it on. The call takes the operator key:

POST https://leads.example.com/base/manage/v1/accounts/${accountId()}/webhooks/${webhookId()}/turn_on
{"catch_up": true}

true delivers what is held, then goes on with new activity.
false skips what is held: only new activity is delivered.

This goes to the admins and managers of the account ${accountId()}.
`,
  )
})

test('an e-mail shows only the origin of the URL, since the rest may hold a secret', (t) => {
  const { subject, text } = webhookEmail(facts, context)
  t.notRegex(subject + text, /hook-path|key=|secret|user|word/)
})

test('where nobody recorded since when it failed, an e-mail says only when the webhook was turned off', (t) => {
  const { text } = webhookEmail(noticeFacts(), { ...context, waiting: 1 })
  t.notRegex(text, /Failing since/)
  t.regex(text, /^Turned off at: 2026-01-15 12:00:00 UTC$/m)
  t.regex(text, /^Held for it now: 1 delivery\.$/m)
})

test('of a webhook that is on again, or was removed, an e-mail says so and asks for nothing', (t) => {
  for (const [state, sentence] of [
    ['on', /^It was turned on again since/m],
    ['removed', /^It was removed since/m],
  ] as const) {
    const { text } = webhookEmail(facts, { ...context, state })
    t.regex(text, sentence)
    t.notRegex(text, /POST|held|Held/)
  }
})
