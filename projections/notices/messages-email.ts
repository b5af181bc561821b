import type { MessagesNotice } from '../../domain/notice.js'
import { readableTime } from './readable-time.js'
import type { Mail } from './mail-transport.js'

/** What an admin or a manager reads when messages of the account wait. `isOver`: they wait no longer. */
export const messagesEmail = (
  facts: MessagesNotice,
  { siteUrl, isOver }: { readonly siteUrl: string; readonly isOver: boolean },
): Pick<Mail, 'subject' | 'text'> => {
  const { account_id } = facts
  const { subject, known, remedy, body } = facts.about === 'sender-held' ? heldSender(facts) : usedUpMonth(facts)
  const outlook = [...remedy, '', `PUT ${siteUrl}/manage/v1/accounts/${account_id}/messaging`, body]
  const lines = [
    `${subject}.`,
    '',
    ...known,
    '',
    ...(isOver ? ['It has ended since: nothing is left to do.'] : outlook),
    '',
    `This goes to the admins and managers of the account ${account_id}.`,
  ]
  return { subject, text: `${lines.join('\n')}\n` }
}

type About<What extends MessagesNotice['about']> = Extract<MessagesNotice, { readonly about: What }>

const heldSender = ({ since, reason }: About<'sender-held'>) => ({
  subject: 'The provider lets no messages of your account through',
  known: [`Since: ${readableTime(since)}`, `Why: ${reason}`],
  remedy: [
    'They wait, and no conversation has ended. One message is tried every hour at the latest; once it gets through the others follow.',
    '',
    'This has to be settled with the provider, or the account gets another sender. The call takes the operator key:',
  ],
  body: '{"sender": {"from": "+14155550123", "messages_per_second": null}}',
})

const usedUpMonth = ({ month, segments_per_month }: About<'segment-limit'>) => ({
  subject: 'Your account has used up its messages of the month',
  known: [`Month: ${month}`, `Segments that it may send: ${segments_per_month}`],
  remedy: [
    'Steps of playbooks wait for the next month or a higher limit; what has waited for a day is dropped.',
    'Answers to STOP and HELP, and what members write by hand, still go out.',
    '',
    'This sets another limit, or with null none. The call takes the operator key:',
  ],
  body: `{"segments_per_month": ${segments_per_month * 2}}`,
})
