import test from 'ava'
import { reportEndpoint } from '../../../app/messaging/reports.js'
import { recordAtSender } from '../../../app/messaging/sender-opt-out.js'
import { contactsMeant, receiveForEach, receiveFromManagement } from '../../../app/messaging/text-recording.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { contact } from '../../../domain/contact.js'
import type { DomainEvent } from '../../../domain/events.js'
import { engagement } from '../../../domain/engagement.js'
import { later } from '../../../domain/instant.js'
import { lead } from '../../../domain/lead.js'
import { message } from '../../../domain/message.js'
import { playbook } from '../../../domain/playbook.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import { E, TE } from '../../../domain/prelude.js'
import type { TextProvider } from '../../../domain/text-provider.js'
import { playbookVersions } from '../../../projections/from-streams/playbook-versions.js'
import type { Queries } from '../../../projections/queries.js'
import type { MessageDocument } from '../../../projections/read-models/messages.js'
import {
  accountId,
  at,
  attribution,
  contactId,
  details,
  engagementId,
  leadFacts,
  leadId,
  messageId,
  phone,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { openMessagingStage, writerOf } from './messaging-stage.js'

const openReceivingStage = async () => {
  const { clock, logger, commandHandler, clientCommands, reactToAll } = await openMessagingStage()
  const { execute } = clientCommands
  const ids = { playbookId: playbookId(), accountId: accountId() }
  rightOf(await execute(playbook, playbookId(), { type: 'CreatePlaybook', ...ids, settings: defaultSettings }, 'test'))
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  const start = { type: 'StartEngagement', attribution: attribution(), ...times } as const
  rightOf(await execute(engagement, engagementId(), start, 'test'))
  return { clock, logger, commandHandler, clientCommands, reactToAll }
}

const toldOptOuts = (events: ReadonlyArray<DomainEvent>): number =>
  events.filter(({ type, data }) => type === 'ActivityRecorded' && data.activity.label === 'opted_out').length

const playbookAt = () => Promise.resolve(E.right(undefined))

test('of the accounts that share a sender each hears of an opt-out, though the contact of the one before is gone', async (t) => {
  const { clock, commandHandler, clientCommands } = await openReceivingStage()
  const [gone, reached] = [writerOf(9), writerOf(1)]
  const queries = { page: () => Promise.resolve(E.right([])) }
  const by = { saidAt: undefined, isAnsweredByDefault: true, actor: 'provider' } as const
  const received = { text: 'STOP', meaningToSender: 'opted_out', ...by } as const
  const ports = { commandHandler, clientCommands, clock, queries, playbookAt }
  t.deepEqual(await receiveForEach(ports, received, [gone, reached], gone), E.left({ kind: 'contact-not-found' }))
  t.is(rightOf(await commandHandler.load(message, messageId(1))).state.kind, 'received')
})

test('a text answers the last message that went out, and the newest conversation where that is said to be undelivered', async (t) => {
  const { clock, commandHandler, clientCommands } = await openReceivingStage()
  const older = { engagement_id: engagementId(2) }
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  const start = { type: 'StartEngagement', attribution: attribution(older), ...times } as const
  rightOf(await clientCommands.execute(engagement, engagementId(2), start, 'test'))
  const answeredBy = async (n: number, state: 'sent' | 'failed') => {
    const last = { ...older, state, account_month: `${accountId()}/2026-01` } as MessageDocument
    const queries = { page: (() => Promise.resolve(E.right([{ document: last }]))) as unknown as Queries['page'] }
    const ports = { commandHandler, clientCommands, clock, queries, playbookAt }
    const by = { saidAt: undefined, isAnsweredByDefault: true, actor: 'provider' } as const
    const received = { text: 'How much?', meaningToSender: undefined, ...by }
    rightOf(await receiveForEach(ports, received, [{ ...writerOf(1), messageId: messageId(n) }], undefined))
    const { state: known } = rightOf(await commandHandler.load(message, messageId(n)))
    return known.kind === 'received' ? known.facts.engagement_id : known.kind
  }
  t.is(await answeredBy(1, 'sent'), engagementId(2))
  t.is(await answeredBy(2, 'failed'), engagementId())
})

test('two opt-outs that come before the first was carried out are told once, and one after an opt-in again', async (t) => {
  const { clock, commandHandler, clientCommands, reactToAll } = await openReceivingStage()
  const queries = { page: () => Promise.resolve(E.right([])) }
  const ports = { commandHandler, clientCommands, clock, queries, playbookAt }
  const write = async (meaning: 'opted_out' | 'opted_in', n: number) => {
    const by = { saidAt: undefined, isAnsweredByDefault: true, actor: 'provider' } as const
    const received = { text: 'any', meaningToSender: meaning, ...by } as const
    const recipient = { ...writerOf(1), messageId: messageId(n) }
    rightOf(await receiveForEach(ports, received, [recipient], undefined))
    clock.set(at(n * 1_000))
  }
  const told = async () => toldOptOuts(await reactToAll())

  await write('opted_out', 1)
  await write('opted_out', 2)
  t.is(await told(), 1)
  await write('opted_in', 3)
  await reactToAll()
  await write('opted_out', 4)
  await write('opted_out', 5)
  t.is(await told(), 2)
  await write('opted_out', 6)
  t.is(await told(), 2)
})

test('of the accounts that share a sender each hears of an opt-out, though the playbook of the one before can not be read', async (t) => {
  const { clock, commandHandler, clientCommands } = await openReceivingStage()
  const { execute } = clientCommands
  const own = { account_id: accountId(2), contact_id: contactId(2), engagement_id: engagementId(2) }
  const engaged = {
    ...{ accountId: accountId(2), contactId: contactId(2), engagementId: engagementId(2), leadId: leadId(2) },
    ...{ sourceId: sourceId(), sourceTitle: 'Search ads', playbookId: playbookId(), details: details() },
  }
  rightOf(await execute(contact, contactId(2), { type: 'EngageLead', ...engaged, submittedAt: at() }, 'test'))
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  const followUp = { playbook_version: 1, first_step_at: at() }
  const start = { type: 'StartEngagement', attribution: attribution(own), ...times, followUp } as const
  rightOf(await execute(engagement, engagementId(2), start, 'test'))
  const unreadable = { kind: 'corrupt', reason: 'a test' } as const
  const unreadableAt = playbookVersions({ read: () => Promise.resolve(E.left(unreadable)) })
  const queries = { page: () => Promise.resolve(E.right([])) }
  const by = { saidAt: undefined, isAnsweredByDefault: true, actor: 'provider' } as const
  const received = { text: 'STOP', meaningToSender: 'opted_out', ...by } as const
  const ports = { commandHandler, clientCommands, clock, queries, playbookAt: unreadableAt }
  t.deepEqual(await receiveForEach(ports, received, [writerOf(2), writerOf(1)], writerOf(2)), E.left(unreadable))
  t.is(rightOf(await commandHandler.load(message, messageId(1))).state.kind, 'received')
})

test('an opt-out that a report tells, and a text that says so before that was carried out, are told once', async (t) => {
  const { clock, commandHandler, clientCommands, reactToAll } = await openReceivingStage()
  const ports = {
    commandHandler,
    clientCommands,
    clock,
    queries: { page: () => Promise.resolve(E.right([])) },
    playbookAt,
  }
  const { accountId: account_id, contactId: contact_id } = writerOf(1)
  const facts = { message_id: messageId(9), account_id, contact_id, engagement_id: engagementId() }
  const begin = { type: 'BeginMessage', facts, text: 'Hi', segments: 1, at: at() } as const
  rightOf(await clientCommands.execute(message, messageId(9), begin, 'test'))
  const sent = { type: 'EndMessage', attempt: 1, ending: { kind: 'sent', providerId: 'one' } } as const
  rightOf(await clientCommands.execute(message, messageId(9), sent, 'test'))
  const provider = {
    isSigned: () => true,
    reportFrom: () => E.right({ providerId: 'one', kind: 'opted-out', reason: 'code 21610' }),
  } as unknown as TextProvider
  const named = { query: () => undefined, queryNames: () => [], header: () => undefined }
  const request = { method: 'POST', params: { message_id: messageId(9) }, ...named, body: {} }
  rightOf(
    await reportEndpoint({ ...ports, unplaced: () => undefined }, provider).handle(
      TE.right({ request, caller: undefined }),
    )(),
  )
  const by = { saidAt: undefined, isAnsweredByDefault: true, actor: 'provider' } as const
  const received = { text: 'STOP', meaningToSender: 'opted_out', ...by } as const
  rightOf(await receiveForEach(ports, received, [{ ...writerOf(1), messageId: messageId(1) }], undefined))
  t.is(toldOptOuts(await reactToAll()), 1)
})

test('a START between a lead and its contact counts, also where the number opted out before the account used its sender', async (t) => {
  const { clock, logger, commandHandler, clientCommands, reactToAll } = await openReceivingStage()
  const queries = { page: () => Promise.resolve(E.right([])) }
  const ports = { clock, logger, commandHandler, clientCommands, queries, playbookAt, vault: plainVault }
  const sender = '+14155550100'
  const stranger = { ...writerOf(2), isKnown: false, optedOutBefore: false, sender }
  const say = async (text: string) => {
    clock.set(later(clock.now(), 1_000))
    const said = rightOf(await recordAtSender(ports, phone(), [sender], { text, textId: text, actor: 'test' }))
    return said === 'repeated' ? t.fail() : said
  }
  await say('STOP')
  const ids = { lead_id: leadId(2), account_id: accountId(2), contact_id: contactId(2), engagement_id: engagementId(2) }
  const submit = { type: 'SubmitLead', facts: leadFacts({ ...ids, opted_out_before: true }) } as const
  rightOf(await clientCommands.execute(lead, leadId(2), submit, 'vendor'))
  rightOf(await contactsMeant(ports, await say('START'), [stranger], 'test')())
  await reactToAll()
  t.like(rightOf(await commandHandler.load(contact, contactId(2))).state, { kind: 'known', optedOut: false })
})

test('a START that reached the sender alone, and is repeated after a STOP, is told that it counts no more', async (t) => {
  const { clock, logger, commandHandler, clientCommands } = await openReceivingStage()
  const nothing = () => Promise.resolve(E.right([]))
  const unavailable = { kind: 'unavailable', reason: 'a test' } as const
  const halfway: ClientCommands['execute'] = (decider, ...rest) =>
    decider.category === message.category
      ? Promise.resolve(E.left(unavailable))
      : clientCommands.execute(decider, ...rest)
  const write = (text: string, n: number, execute = clientCommands.execute) => {
    const queries = { page: nothing, values: nothing, byKeys: nothing }
    const ports = {
      clock,
      logger,
      commandHandler,
      queries,
      vault: plainVault,
      sharedSender: '+14155550100',
      playbookAt,
    }
    const currentStates = { get: () => Promise.resolve(E.left(unavailable)) }
    const account = { accountId: accountId(), sender: null }
    const written = { account, contactId: contactId(), messageId: messageId(n), text, actor: 'test' }
    return receiveFromManagement({ ...ports, currentStates, clientCommands: { execute } }, written)
  }

  t.deepEqual(await write('START', 1, halfway), E.left(unavailable))
  rightOf(await write('STOP', 2))
  t.deepEqual(await write('START', 1), E.left({ kind: 'text-outdated' }))
  t.deepEqual(rightOf(await write('STOP', 2)).events, [], 'what was recorded is answered as before')
  const state = rightOf(await commandHandler.load(contact, contactId())).state
  t.true(state.kind === 'known')
  t.deepEqual(rightOf(await commandHandler.load(message, messageId(1))).state, { kind: 'unknown' })
})
