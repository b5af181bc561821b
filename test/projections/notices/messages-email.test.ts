import test from 'ava'
import type { MessagesNotice } from '../../../domain/notice.js'
import { messagesEmail } from '../../../projections/notices/messages-email.js'
import { accountId, at, memberId, noticeId } from '../../kit/domain/samples.js'

const siteUrl = 'https://leads.example.com'
const toMember = { notice_id: noticeId(), account_id: accountId(), member_id: memberId(), due_at: at() }
const held: MessagesNotice = { ...toMember, about: 'sender-held', since: at(), reason: 'the account is suspended' }
const limited: MessagesNotice = { ...toMember, about: 'segment-limit', month: '2026-01', segments_per_month: 5 }

test('an e-mail says why messages wait, and what ends it', (t) => {
  const { subject, text } = messagesEmail(held, { siteUrl, isOver: false })
  t.is(subject, 'The provider lets no messages of your account through')
  t.is(
    text,
    `The provider lets no messages of your account through.

Since: 2026-01-15 12:00:00 UTC
Why: the account is suspended

They wait, and no conversation has ended. One message is tried every hour at the latest; once it gets through the others follow.

This has to be settled with the provider, or the account gets another sender. The call takes the operator key:

PUT ${siteUrl}/manage/v1/accounts/${accountId()}/messaging
{"sender": {"from": "+14155550123", "messages_per_second": null}}

This goes to the admins and managers of the account ${accountId()}.
`,
  )
})

test('an e-mail says that a month is used up, what waits, and how to set another limit', (t) => {
  const { subject, text } = messagesEmail(limited, { siteUrl, isOver: false })
  t.is(subject, 'Your account has used up its messages of the month')
  t.regex(text, /^Month: 2026-01\nSegments that it may send: 5$/m)
  t.regex(text, /what has waited for a day is dropped/)
  t.true(text.includes(`PUT ${siteUrl}/manage/v1/accounts/${accountId()}/messaging\n{"segments_per_month": 10}\n`))
})

test('of trouble that is over an e-mail says so and asks for nothing', (t) => {
  for (const facts of [held, limited]) {
    const { text } = messagesEmail(facts, { siteUrl, isOver: true })
    t.regex(text, /^It has ended since: nothing is left to do\.$/m)
    t.notRegex(text, /PUT/)
  }
})
