import test from 'ava'
import { reportEndpoint } from '../../../app/messaging/reports.js'
import { account } from '../../../domain/account.js'
import { stepMessageIdOf } from '../../../domain/derived-id.js'
import { engagement, type EngagementCommand } from '../../../domain/engagement.js'
import { message, type MessageCommand, type MessageReport } from '../../../domain/message.js'
import { E, TE } from '../../../domain/prelude.js'
import { sendingHold } from '../../../domain/sending-hold.js'
import type { TextProvider } from '../../../domain/text-provider.js'
import { accountId, at, attribution, contactId, engagementId, openAccountCommand } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { openMessagingStage } from './messaging-stage.js'

const messageId = stepMessageIdOf(engagementId(), 0)
const ids = { message_id: messageId, account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() }
const after = { next_step_at: null, gives_up_at: at(600_000) }

/** A step that was tried once. */
const openStage = async () => {
  const { commandHandler, clientCommands, clock } = await openMessagingStage()
  const { execute } = clientCommands
  const onEngagement = async (command: EngagementCommand) => {
    rightOf(await execute(engagement, engagementId(), command, 'test'))
  }
  const onMessage = async (command: MessageCommand) => {
    rightOf(await execute(message, messageId, command, 'test'))
  }
  rightOf(await execute(account, accountId(), openAccountCommand, 'test'))
  const followUp = { playbook_version: 1, first_step_at: at() }
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  await onEngagement({ type: 'StartEngagement', attribution: attribution(), ...times, followUp })
  await onEngagement({ type: 'BeginStep', step: 0, attempt: 1, messageId, at: at() })
  await onMessage({ type: 'BeginMessage', facts: { ...ids, step: 0 }, text: 'Hi', segments: 1, at: at(), after })
  const report = (told: MessageReport) => {
    const provider = {
      name: 'provider',
      isSigned: () => true,
      reportFrom: () => E.right(told),
    } as unknown as TextProvider
    const ports = { commandHandler, clientCommands, clock, unplaced: () => undefined }
    const request = {
      ...{ method: 'POST', params: { message_id: messageId }, query: () => undefined, queryNames: () => [] },
      ...{ header: () => undefined, body: {} },
    }
    return reportEndpoint(ports, provider).handle(TE.right({ request, caller: undefined }))()
  }
  return {
    onEngagement,
    onMessage,
    report,
    messageState: async () => rightOf(await commandHandler.load(message, messageId)).state,
    hold: async () => {
      const hold = { type: 'HoldSender', accountId: accountId(), reason: 'a code', saidBy: 'report', at: at() } as const
      rightOf(await execute(sendingHold, accountId(), hold, 'test'))
    },
    isHeld: async () => rightOf(await commandHandler.load(sendingHold, accountId())).state.held !== undefined,
  }
}

test('a step that was put off while it waited for its next attempt is tried no sooner for what is reported of the last one', async (t) => {
  const { onEngagement, onMessage, report, messageState } = await openStage()
  await onMessage({ type: 'RecordFailedAttempt', attempt: 1, reason: 'absent', nextAttemptAt: at(60_000), after })
  await onEngagement({ type: 'PostponeStep', step: 0, until: at(500_000), reason: 'quiet hours' })
  t.like(await report({ kind: 'unreached', providerId: 'SM1', reason: 'a code' }), { right: { status: 204 } })
  t.like(await messageState(), { kind: 'waiting', dueAt: at(500_000) })
})

test('a report that is repeated says nothing of a sender that was blocked since', async (t) => {
  const { onMessage, report, hold, isHeld } = await openStage()
  await onMessage({ type: 'EndMessage', attempt: 1, ending: { kind: 'sent', providerId: 'SM1' }, after })
  const delivered = { kind: 'delivered', providerId: 'SM1' } as const
  await hold()
  t.like(await report(delivered), { right: { status: 204 } })
  t.false(await isHeld(), 'a message got through')
  await hold()
  t.like(await report(delivered), { right: { status: 204 } })
  t.true(await isHeld())
})
