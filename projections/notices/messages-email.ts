import type { MessagesNotice } from '../../domain/notice.js'
import { shown } from './email.js'
import type { Mail } from './sender.js'

/** What an admin or a manager reads when messages of the account wait. `isOver`: they wait no longer. */
export const messagesEmail = (
  facts: MessagesNotice,
  { siteUrl, isOver }: { readonly siteUrl: string; readonly isOver: boolean },
): Pick<Mail, 'subject' | 'text'> => {
  const { account_id } = facts
  const call = `PUT ${siteUrl}/manage/v1/accounts/${account_id}/messaging`
  const { subject, lines } = facts.about === 'sender-held' ? held(call) : limited(facts, call)
  const outlook = isOver ? ['It has ended since: nothing is left to do.'] : lines
  const text = [
    `${subject}.`,
    '',
    ...told(facts),
    '',
    ...outlook,
    '',
    `This goes to the admins and managers of the account ${account_id}.`,
  ]
  return { subject, text: `${text.join('\n')}\n` }
}

type Limited = Extract<MessagesNotice, { readonly about: 'segment-limit' }>

const told = (facts: MessagesNotice): ReadonlyArray<string> =>
  facts.about === 'sender-held'
    ? [`Since: ${shown(facts.since)}`, `Why: ${facts.reason}`]
    : [`Month: ${facts.month}`, `Segments that it may send: ${facts.segments_per_month}`]

const held = (call: string) => ({
  subject: 'The provider lets no messages of your account through',
  lines: [
    'They wait, and no conversation has ended. One message is tried every hour at the latest; once it gets through the others follow.',
    '',
    'This has to be settled with the provider, or the account gets another sender. The call takes the operator key:',
    '',
    call,
    '{"sender": {"from": "+14155550123", "messages_per_second": null}}',
  ],
})

const limited = ({ segments_per_month }: Limited, call: string) => ({
  subject: 'Your account has used up its messages of the month',
  lines: [
    'Steps of playbooks wait for the next month or a higher limit; what has waited for a day is dropped.',
    'Answers to STOP and HELP, and what members write by hand, still go out.',
    '',
    'This sets another limit, or with null none. The call takes the operator key:',
    '',
    call,
    `{"segments_per_month": ${segments_per_month * 2}}`,
  ],
})
