import fc from 'fast-check'
import type { AccountCommand } from '../../../domain/account.js'
import { activityLabels, labelsOf } from '../../../domain/activity.js'
import type { ContactCommand } from '../../../domain/contact.js'
import type { ConversionCommand } from '../../../domain/conversion.js'
import type { ConversionRecordCommand } from '../../../domain/conversion-record.js'
import type { DeliveryCommand } from '../../../domain/delivery.js'
import type { EngagementCommand } from '../../../domain/engagement.js'
import type { ErasureCommand } from '../../../domain/erasure.js'
import type { MessageCommand } from '../../../domain/message.js'
import type { NoticeCommand } from '../../../domain/notice.js'
import type { LeadCommand } from '../../../domain/lead.js'
import type { MarketingSourceCommand } from '../../../domain/marketing-source.js'
import { later, type Instant } from '../../../domain/instant.js'
import type { PlaybookCommand } from '../../../domain/playbook.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import type { ParkedEventCommand } from '../../../domain/parked-event.js'
import type { RemarkCommand } from '../../../domain/remark.js'
import type { ResendCommand } from '../../../domain/resend.js'
import type { SendingHoldCommand } from '../../../domain/sending-hold.js'
import type { SenderOptOutCommand } from '../../../domain/sender-opt-out.js'
import type { SubmissionKeyCommand } from '../../../domain/submission-key.js'
import type { WebhookCommand } from '../../../domain/webhook.js'
import { linkCodeFrom } from '../../../domain/tracked-link.js'
import {
  accountId,
  apiKeyId,
  at,
  attribution,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  details,
  engagementId,
  erasureId,
  leadFacts,
  leadId,
  memberId,
  messageId,
  noticeFacts,
  parkedEventFacts,
  playbookId,
  recordId,
  reportId,
  resendId,
  sourceId,
  senderOptOutId,
  submissionKeyId,
  webhookId,
  webhookSettings,
} from './samples.js'

const is = <T extends string>(type: T): fc.Arbitrary<T> => fc.constant(type)

/** Few of everything, so that commands meet. */
const few = <Id>(id: (n: number) => Id): fc.Arbitrary<Id> => fc.integer({ min: 1, max: 3 }).map(id)
const moment = fc.integer({ min: 0, max: 4 }).map(at)
const hoursLater = (instant: Instant): Instant => later(instant, 3_600_000)
const word = fc.constantFrom('a', 'b', 'A', 'ß', '')
const limit = fc.constantFrom(null, 1, 60)
const engagements = fc.uniqueArray(few(engagementId))

export const accountCommands: fc.Arbitrary<AccountCommand> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: is('OpenAccount'),
      accountId: few(accountId),
      title: word,
      sealedSecret: word,
      playbookId: few(playbookId),
      quotedId: few(conversionId),
      soldId: few(conversionId),
      apiKeyId: few(apiKeyId),
      apiKeyHash: word,
    }),
  },
  fc.record({ type: is('EnableAccount') }),
  fc.record({ type: is('DisableAccount') }),
  fc.record({ type: is('IssueApiKey'), apiKeyId: few(apiKeyId), secretHash: word, limitPerMinute: limit }),
  fc.record({ type: is('LimitApiKey'), apiKeyId: few(apiKeyId), limitPerMinute: limit }),
  fc.record({ type: is('RevokeApiKey'), apiKeyId: few(apiKeyId) }),
  fc.record({
    type: is('AddMember'),
    memberId: few(memberId),
    email: word,
    role: fc.constantFrom('admin', 'manager', 'agent'),
  }),
  fc.record({ type: is('AcceptConsentHosts'), hosts: fc.constantFrom(null, ['cert.example.com']) }),
  fc.record({ type: is('RemoveMember'), memberId: few(memberId) }),
  fc.record({
    type: is('SetSender'),
    sender: fc.constantFrom(null, { from: '+14155550101', messages_per_second: null }),
  }),
  fc.record({ type: is('LimitSegments'), segmentsPerMonth: limit }),
)

export const playbookCommands: fc.Arbitrary<PlaybookCommand> = fc.oneof(
  fc.record({
    type: is('CreatePlaybook'),
    playbookId: few(playbookId),
    accountId: few(accountId),
    settings: fc.constant(defaultSettings),
  }),
  fc.record({
    type: is('ChangePlaybook'),
    accountId: few(accountId),
    settings: fc.record(
      {
        title: word,
        required_fields: fc.array(word),
        quiet_hours: fc.constantFrom(null, { from: '20:00', to: '09:00' }),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ type: fc.constantFrom('UsePlaybook', 'DeletePlaybook'), accountId: few(accountId) }),
)

export const sourceCommands: fc.Arbitrary<MarketingSourceCommand> = fc.oneof(
  fc.record({
    type: is('CreateSource'),
    sourceId: few(sourceId),
    accountId: few(accountId),
    title: word,
    playbookId: few(playbookId),
    originatorField: fc.constantFrom(null, 'crm_id'),
  }),
  fc.record({ type: fc.constantFrom('SuspendSource', 'ResumeSource'), accountId: few(accountId) }),
  fc.record({ type: is('LimitSource'), accountId: few(accountId), limitPerMinute: limit }),
)

const conversionLabel = fc.constantFrom('quoted', 'sold', 'custom_conversion')

export const conversionCommands: fc.Arbitrary<ConversionCommand> = fc.record({
  type: is('DefineConversion'),
  conversionId: few(conversionId),
  accountId: few(accountId),
  title: word,
  value: fc.nat(),
  label: conversionLabel,
})

export const recordCommands: fc.Arbitrary<ConversionRecordCommand> = fc.record({
  type: is('RecordConversion'),
  facts: fc.record({
    record_id: few(recordId),
    account_id: few(accountId),
    conversion_id: few(conversionId),
    title: word,
    label: conversionLabel,
    contact_id: few(contactId),
    converted_at: moment,
    value: fc.nat(),
    engagement_id: few(engagementId),
    lead_id: few(leadId),
    source_id: few(sourceId),
    ends: engagements,
  }),
})

export const leadCommands: fc.Arbitrary<LeadCommand> = fc.record({
  type: is('SubmitLead'),
  facts: fc.record({ lead_id: few(leadId), engagement_id: few(engagementId) }).map(leadFacts),
})

export const submissionKeyCommands: fc.Arbitrary<SubmissionKeyCommand> = fc.record({
  type: is('ClaimSubmissionKey'),
  submissionKeyId: few(submissionKeyId),
  sourceId: few(sourceId),
  leadId: few(leadId),
})

const ofMessage = fc.record({
  message_id: few(messageId),
  account_id: few(accountId),
  contact_id: few(contactId),
  engagement_id: few(engagementId),
})

/** A lead says the same each time that it comes; some leads were submitted in the same millisecond. */
export const contactCommands: fc.Arbitrary<ContactCommand> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: 6 }).map((n) => ({
      type: 'EngageLead' as const,
      contactId: contactId(),
      accountId: accountId(),
      leadId: leadId(n),
      sourceId: sourceId(n),
      sourceTitle: `Source ${n}`,
      playbookId: playbookId(),
      engagementId: engagementId(n),
      details: details({
        first_name: `Name ${n}`,
        additional_info: { [`field_${n % 3}`]: `${n}`, current_residence_state: 'CA' },
      }),
      submittedAt: at((n * 7) % 4),
    })),
  },
  fc.record({
    type: is('MarkConverted'),
    recordId: few(recordId),
    conversionId: few(conversionId),
    ended: engagements,
  }),
  fc.record({
    type: fc.constantFrom('OptOut', 'OptIn'),
    engagementId: few(engagementId),
    saying: fc.record(
      { event_id: fc.constantFrom('one text', 'another text'), at: moment, to_sender: fc.constant(true as const) },
      { requiredKeys: ['event_id', 'at'] },
    ),
  }),
  fc.record({ type: is('OptOutNumber'), contactId: fc.constant(contactId()), accountId: few(accountId) }),
  fc.record({
    type: is('OptInNumber'),
    contactId: fc.constant(contactId()),
    accountId: few(accountId),
    saidAt: moment,
  }),
  fc.record({ type: is('NoteMessage'), ids: ofMessage }),
)

const step = fc.nat(2)
const afterStep = fc.record({ next_step_at: fc.constantFrom(null, at(3)), gives_up_at: moment })

export const engagementCommands: fc.Arbitrary<EngagementCommand> = fc.oneof(
  fc.record({
    type: is('StartEngagement'),
    attribution: fc.constant(attribution()),
    submittedAt: moment,
    engagedAt: moment,
    filtered: fc.boolean(),
  }),
  fc.record({
    type: is('StartEngagement'),
    attribution: fc.constant(attribution()),
    submittedAt: moment,
    livesIn: fc.constantFrom('CA', 'OH'),
    engagedAt: moment,
    filtered: fc.boolean(),
  }),
  fc.record({
    type: is('RecordActivity'),
    accountId: fc.constantFrom(accountId(1), accountId(1), accountId(2)),
    label: fc.constantFrom(...activityLabels, ...labelsOf.outcome),
    at: moment,
    remark: fc.nat(2),
  }),
  fc.record({
    type: is('RecordActivity'),
    accountId: fc.constant(accountId(1)),
    label: fc.constantFrom(...activityLabels),
    at: moment,
    reportId: few(reportId),
  }),
  fc.record({
    type: is('RecordConversionActivity'),
    recordId: few(recordId),
    label: conversionLabel,
    title: word,
    ends: fc.boolean(),
    at: moment,
  }),
  fc.record({ type: is('EndEngagement'), reason: word, at: moment }),
  fc.record({
    type: is('StartEngagement'),
    attribution: fc.constant(attribution()),
    submittedAt: moment,
    engagedAt: moment,
    filtered: fc.boolean(),
    followUp: fc.record({ playbook_version: fc.constant(1), first_step_at: fc.constantFrom(null, at(0), at(2)) }),
  }),
  fc.record({
    type: is('BeginStep'),
    step,
    attempt: fc.integer({ min: 1, max: 2 }),
    messageId: few(messageId),
    at: moment,
  }),
  fc.record({ type: is('PostponeStep'), step, until: moment, reason: word }),
  fc.record({ type: is('PostponeStep'), step, until: moment, reason: word, insteadOf: moment }),
  fc.record({ type: is('SkipStep'), step, reason: word, after: afterStep }),
  fc.record({
    type: is('StartEngagement'),
    attribution: fc.constant(attribution()),
    submittedAt: moment,
    engagedAt: moment,
    filtered: fc.boolean(),
    followUp: fc.record({
      playbook_version: fc.constant(1),
      first_step_at: fc.constant(at(0)),
      consent: fc.constantFrom('awaited', 'refused'),
    }),
  }),
  fc.record({
    type: is('StartEngagement'),
    attribution: fc.constant(attribution()),
    submittedAt: moment,
    engagedAt: moment,
    filtered: fc.boolean(),
    awaitsConsent: fc.boolean(),
  }),
  fc.record({ type: is('VerifyConsent') }),
  fc.record({
    type: is('RecordFailedConsentCheck'),
    check: fc.integer({ min: 1, max: 2 }),
    reason: word,
    at: fc.constantFrom(at(1), at(24 * 60 * 60_000)),
  }),
  fc.record({ type: is('EndSteps'), givesUpAt: moment }),
  fc.record({
    type: is('HearReply'),
    messageId: few(messageId),
    meaning: fc.constantFrom('reply', 'opted_out', 'qualified', 'unqualified', 'not_interested'),
    reportId: few(reportId),
    pausedUntil: moment,
    givesUpAt: moment,
    at: moment,
  }),
  fc.record({ type: is('OpenLink'), reportId: few(reportId), url: word, at: moment }),
  fc.record({ type: is('GiveUp'), trigger: fc.constantFrom('number-unreachable', 'no-hour'), note: word, at: moment }),
  fc.record({ type: is('GiveUp'), trigger: is('number-opted-out'), note: word, reportId: few(reportId), at: moment }),
  fc.record({ type: is('EndSilence'), at: moment, givesUpAt: fc.constantFrom(undefined, at(1)) }),
  fc.record({ type: is('PauseEngagement'), accountId: few(accountId), until: moment }),
  fc.record({ type: is('ResumeEngagement'), accountId: few(accountId) }),
)

export const senderOptOutCommands: fc.Arbitrary<SenderOptOutCommand> = fc.record({
  type: fc.constantFrom('OptOutOfSender', 'OptInToSender'),
  optOutId: fc.constant(senderOptOutId()),
  textId: word,
  at: moment,
})

export const sendingHoldCommands: fc.Arbitrary<SendingHoldCommand> = fc.oneof(
  fc.record({
    type: is('HoldSender'),
    accountId: fc.constant(accountId()),
    reason: word,
    saidBy: fc.constantFrom('answer', 'report'),
    at: moment,
  }),
  fc.record({ type: is('ProbeSender'), accountId: fc.constant(accountId()), at: moment.map(hoursLater) }),
  fc.record({
    type: is('ReleaseSender'),
    accountId: fc.constant(accountId()),
    saidBy: fc.constantFrom('answer', 'report', 'operator'),
    at: moment,
  }),
  fc.record({
    type: is('ReachSegmentLimit'),
    accountId: fc.constant(accountId()),
    month: fc.constantFrom('2026-01', '2026-02'),
    segmentsPerMonth: fc.integer({ min: 1, max: 2 }),
  }),
)

export const messageCommands: fc.Arbitrary<MessageCommand> = fc.oneof(
  fc.record(
    {
      type: is('BeginMessage'),
      facts: fc.tuple(ofMessage, step).map(([ids, number]) => ({ ...ids, step: number })),
      text: word,
      segments: fc.nat(2),
      links: fc.constant({ code: linkCodeFrom('0'.repeat(26)), urls: ['https://www.example.com/'] }),
      at: moment,
    },
    { requiredKeys: ['type', 'facts', 'text', 'segments', 'at'] },
  ),
  fc.record({
    type: is('RecordFailedAttempt'),
    attempt: fc.integer({ min: 1, max: 2 }),
    reason: word,
    nextAttemptAt: moment,
  }),
  fc.record({
    type: is('EndMessage'),
    attempt: fc.integer({ min: 1, max: 2 }),
    ending: fc.oneof(
      fc.record({ kind: is('sent'), providerId: fc.constantFrom(null, 'a') }),
      fc.record({ kind: fc.constantFrom('unknown', 'undeliverable', 'opted-out'), reason: word }),
      fc.record({ kind: is('opted-out'), reason: word, reportId: few(reportId) }),
    ),
    after: afterStep,
  }),
  fc.record({
    type: is('ReportMessage'),
    report: fc.oneof(
      fc.record({ providerId: fc.constantFrom('a', 'b'), kind: fc.constantFrom('taken', 'delivered') }),
      fc.record({
        providerId: fc.constantFrom('a', 'b'),
        kind: fc.constantFrom('opted-out', 'undeliverable', 'unreached', 'sender-blocked'),
        reason: word,
      }),
    ),
    retryAt: fc.constantFrom(undefined, at(1)),
    reportId: fc.constantFrom(undefined, reportId()),
  }),
  fc.record({
    type: is('ReceiveMessage'),
    facts: fc
      .tuple(
        ofMessage,
        fc.record({
          text: word,
          meaning: fc.constantFrom('reply', 'opted_out', 'opted_in', 'qualified'),
          paused_until: moment,
          gives_up_at: moment,
        }),
      )
      .map(([ids, rest]) => ({ ...ids, ...rest })),
  }),
  fc.record({
    type: is('EraseMessage'),
    of: ofMessage,
    beganAt: moment,
    history: fc.constantFrom([], [{ type: 'MessageRequested', at: at(1), purpose: 'help' }]),
  }),
  fc.record({
    type: is('RequestMessage'),
    ids: ofMessage,
    request: fc.record({
      purpose: fc.constantFrom('confirmation', 'help', 'member'),
      text: fc.constantFrom(null, 'A text'),
      expires_at: moment,
    }),
  }),
  fc.record({ type: is('PostponeMessage'), until: moment, reason: word }),
  fc.record({ type: is('PostponeMessage'), until: moment, reason: word, insteadOf: moment }),
  fc.record({ type: is('RecordErasedCopies') }),
  fc.record({
    type: is('RecordKeptCopies'),
    attempt: fc.integer({ min: 1, max: 2 }),
    until: fc.constantFrom(undefined, at(1)),
    reason: word,
  }),
  fc.record({ type: is('WithdrawMessage'), kind: fc.constantFrom('withdrawn', 'expired'), reason: word }),
)

const outcomes = fc.oneof(is('sent'), fc.record({ kind: fc.constantFrom('refused', 'failed'), reason: word }))

export const noticeCommands: fc.Arbitrary<NoticeCommand> = fc.oneof(
  fc.record({ type: is('MakeDue'), facts: fc.constant(noticeFacts()) }),
  fc.record({
    type: is('RecordAttempt'),
    attempt: fc.integer({ min: 1, max: 3 }),
    outcome: outcomes,
    nextAttemptAt: moment,
  }),
  fc.record({ type: is('AbandonNotice') }),
)

export const erasureCommands: fc.Arbitrary<ErasureCommand> = fc.oneof(
  fc.record({
    type: is('RequestErasure'),
    facts: fc.constant({
      ...{ erasure_id: erasureId(), account_id: accountId(), contact_id: contactId() },
      by: 'ticket-1',
    }),
  }),
  fc.record({ type: is('AddLateLead'), erasureId: fc.constant(erasureId()), leadId: few(leadId) }),
  fc.record({ type: is('AddLateMessage'), erasureId: fc.constant(erasureId()), ids: ofMessage }),
  fc.record({
    type: is('CompleteErasure'),
    summary: fc.record({
      webhooks: fc.constantFrom([], [{ webhook_id: webhookId(), deliveries: 2 }]),
      webhooks_count: fc.integer({ min: 1, max: 2 }),
      dropped: fc.constantFrom([], [deliveryId()]),
      dropped_count: fc.nat(1),
    }),
  }),
)

const concerned = {
  engagementId: fc.constant(engagementId()),
  accountId: fc.constant(accountId()),
  contactId: fc.constant(contactId()),
}

const said = fc.record({ note: fc.constantFrom(null, 'a note'), properties: fc.dictionary(word, fc.jsonValue()) })

export const remarkCommands: fc.Arbitrary<RemarkCommand> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: is('MakeRemark'), ...concerned, remark: said }) },
  { weight: 4, arbitrary: fc.record({ type: is('MakeRemark'), ...concerned, remark: said, reportId: few(reportId) }) },
  fc.record({ type: is('EraseRemarks'), ...concerned }),
)

// Not `fc.webUrl`, which takes most of a second to make.
const webhookUrl = fc.constantFrom(
  'https://hooks.example.org',
  'https://hooks.example.org/%C3%9F?a=b',
  'http://[::1]:1/',
)

const settings = fc
  .record({ events: fc.subarray([...activityLabels]), format: fc.constantFrom('agent', 'flat'), url: webhookUrl })
  .map(webhookSettings)

export const webhookCommands: fc.Arbitrary<WebhookCommand> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: is('AddWebhook'), webhookId: few(webhookId), accountId: few(accountId), settings }),
  },
  { weight: 2, arbitrary: fc.record({ type: is('ChangeWebhook'), accountId: few(accountId), settings }) },
  fc.record({
    type: is('IssueSigningSecret'),
    accountId: few(accountId),
    signing: fc.record({ sealed: word, previousUntil: moment }),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: is('TurnOffWebhook'),
      deliveryId: few(deliveryId),
      reason: word,
      failingSince: fc.option(moment, { nil: undefined }),
      version: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    }),
  },
  fc.record({ type: is('TurnOnWebhook'), accountId: few(accountId), catchUp: fc.boolean(), by: word }),
  fc.record({ type: is('RemoveWebhook'), accountId: few(accountId) }),
)

const attemptOutcome = fc.record(
  {
    attempt: fc.integer({ min: 1, max: 4 }),
    status: fc.constantFrom(null, 200, 500),
    reason: word,
    duration_ms: fc.nat(6000),
    excerpt: word,
    webhook_version: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: ['attempt', 'status', 'reason', 'duration_ms'] },
)
const delivered = fc.constantFrom(true, false, false, false)

export const deliveryCommands: fc.Arbitrary<DeliveryCommand> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: is('MakeDue'),
      facts: fc.constant(deliveryFacts()),
      heldAt: fc.constantFrom(undefined, 2),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ type: is('RecordAttempt'), delivered, outcome: attemptOutcome, nextAttemptAt: moment }),
  },
  fc.record({ type: is('HoldDelivery'), webhookVersion: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ type: is('ResumeDelivery'), dueAt: moment }),
  fc.record({ type: is('SkipDelivery'), by: word }),
  fc.record({ type: is('AbandonDelivery') }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: is('RequestResend'),
      resendId: fc.option(few(resendId), { nil: null }),
      dueAt: moment,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: is('RecordResend'), delivered, outcome: attemptOutcome }) },
)

export const resendCommands: fc.Arbitrary<ResendCommand> = fc.oneof(
  fc.record({
    type: is('StartResend'),
    resendId: few(resendId),
    accountId: few(accountId),
    webhookId: few(webhookId),
    from: moment,
    to: moment,
  }),
  fc.record({ type: is('CancelResend'), webhookId: few(webhookId) }),
  fc.record({ type: is('CompleteResend') }),
)

export const parkedEventCommands: fc.Arbitrary<ParkedEventCommand> = fc.oneof(
  fc.record({ type: is('ParkEvent'), facts: fc.constant(parkedEventFacts()) }),
  fc.record({ type: is('RequestRetry') }),
  fc.record({ type: is('RecordRetry'), failure: fc.constantFrom(undefined, 'contact-not-found') }),
)
