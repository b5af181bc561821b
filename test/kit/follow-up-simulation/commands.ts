import type { ActivityLabel } from '../../../domain/activity.js'
import { recordFrom } from '../../../domain/conversion-report.js'
import { conversionRecord } from '../../../domain/conversion-record.js'
import type { ConversionLabel } from '../../../domain/conversion.js'
import { engagement } from '../../../domain/engagement.js'
import type { FollowUp } from '../../../domain/follow-up.js'
import type { EngagementId, MessageId } from '../../../domain/ids.js'
import { later, type Instant } from '../../../domain/instant.js'
import { lead } from '../../../domain/lead.js'
import { message } from '../../../domain/message.js'
import { playbook } from '../../../domain/playbook.js'
import { followUpOf } from '../../../domain/step-times.js'
import {
  accountId,
  conversionId,
  engagementId,
  leadFacts,
  leadId,
  playbookId,
  reportId,
  sourceId,
} from '../domain/samples.js'
import { rightOf } from '../right-of.js'
import { accountNumber } from './accounts.js'
import type { FollowUpProcess } from './follow-up-process.js'
import { type detailsOf, type Person } from './people.js'

/** What a client asks of the service. After a crash it is asked again, so a second time must do no harm. */
export type Command = (process: FollowUpProcess) => Promise<void>

const day = 24 * 60 * 60_000

/** The playbook of the account number `n`. */
export const createPlaybook =
  (n: number): Command =>
  ({ execute }) => {
    const ids = { playbookId: playbookId(n), accountId: accountId(n) }
    return execute(playbook, ids.playbookId, { type: 'CreatePlaybook', ...ids, settings: accountNumber(n).settings })
  }

/** The lead number `n`, with a conversation of the same number. */
export const submitLead = (
  n: number,
  person: Person,
  details: ReturnType<typeof detailsOf>,
  consent: FollowUp['consent'],
  now: Instant,
): Command => {
  const { account, contactId: contact } = person
  const followUp = followUpOf({ settings: accountNumber(account).settings, version: 1 }, details, now, engagementId(n))
  if (followUp === undefined) throw new Error('a playbook sends nothing')
  const facts = leadFacts({
    ...{ lead_id: leadId(n), account_id: accountId(account), source_id: sourceId(account), details },
    ...{ playbook_id: playbookId(account), contact_id: contact, engagement_id: engagementId(n) },
    follow_up: { ...followUp, ...(consent === undefined ? {} : { consent }) },
  })
  return ({ execute }) => execute(lead, leadId(n), { type: 'SubmitLead', facts })
}

export const write =
  ({ contactId: id }: Person, messageId: MessageId, text: string): Command =>
  ({ hear }) =>
    hear(id, messageId, text)

export const convert =
  ({ contactId: id, account }: Person, label: ConversionLabel, keepsEngagementsOpen: boolean, now: Instant): Command =>
  async ({ execute, contact }) => {
    const person = await contact(id)
    if (person === undefined) return
    const conversion = { kind: 'defined', accountId: accountId(account), title: label, value: 100, label } as const
    const report = {
      conversion: { ...conversion, id: conversionId(['quoted', 'sold', 'custom_conversion'].indexOf(label) + 1) },
      contact: { ...person, id },
      ...{ convertedAt: undefined, value: undefined, keepsEngagementsOpen },
    }
    const facts = rightOf(recordFrom(report, now))
    await execute(conversionRecord, facts.record_id, { type: 'RecordConversion', facts })
  }

/** The `n`-th report of all. */
export const report =
  (n: number, { account }: Person, id: EngagementId, label: ActivityLabel, at: Instant): Command =>
  ({ execute }) =>
    execute(engagement, id, { type: 'RecordActivity', accountId: accountId(account), label, reportId: reportId(n), at })

export const pause =
  ({ account }: Person, id: EngagementId, until: Instant): Command =>
  ({ execute }) =>
    execute(engagement, id, { type: 'PauseEngagement', accountId: accountId(account), until })

export const resume =
  ({ account }: Person, id: EngagementId): Command =>
  ({ execute }) =>
    execute(engagement, id, { type: 'ResumeEngagement', accountId: accountId(account) })

/** A member writes by hand. */
export const writeByHand =
  ({ account, contactId: contact }: Person, id: EngagementId, messageId: MessageId, now: Instant): Command =>
  ({ execute }) => {
    const ids = { message_id: messageId, account_id: accountId(account), contact_id: contact, engagement_id: id }
    const request = { purpose: 'member', text: 'Here is your offer', expires_at: later(now, day) } as const
    return execute(message, messageId, { type: 'RequestMessage', ids, request })
  }
