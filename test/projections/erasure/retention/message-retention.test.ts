import test from 'ava'
import { contact } from '../../../../domain/contact.js'
import { erasureIdOf } from '../../../../domain/derived-id.js'
import { erasure } from '../../../../domain/erasure.js'
import { later } from '../../../../domain/instant.js'
import { message, type MessageCommand } from '../../../../domain/message.js'
import type { Messenger } from '../../../../domain/messenger.js'
import { messageRetention } from '../../../../projections/erasure/retention/message-retention.js'
import type { MessageDocument } from '../../../../projections/read-models/messages.js'
import { eventfulHistory } from '../../../kit/domain/histories.js'
import { writeHistory } from '../../../kit/domain/lively-history.js'
import { messageId, uuid } from '../../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { turnTime } from '../../../kit/time/turns.js'

const history = eventfulHistory(11)
const ended = new Set(history.flatMap(({ type, data }) => (type === 'EngagementEnded' ? [data.engagement_id] : [])))
const engagements = history.flatMap(({ type, data }) => (type === 'EngagementStarted' ? [data] : []))
const numbers = new Map(
  history.flatMap(({ type, data }) => (type === 'LeadSubmitted' ? [[data.contact_id, data.details.phone]] : [])),
)

type Ending = Extract<MessageCommand, { readonly type: 'EndMessage' }>['ending']

/**
 * What becomes of a message of a conversation that has ended, or goes on, when it has been kept for long enough.
 * `erasing`: how far the erasure of its contact has come.
 */
const removed = async (
  isOver: boolean,
  ending: Ending,
  erasing: ReadonlyArray<'contact' | 'message' | 'completed'> = [],
) => {
  const found = engagements.find(({ engagement_id }) => ended.has(engagement_id) === isOver)
  if (found === undefined) throw new Error('there is no such conversation')
  const { account_id, contact_id, engagement_id } = found
  const ids = { message_id: messageId(9_000), account_id, contact_id, engagement_id }
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const clock = manualClock()
  clock.set(later(history.at(-1)?.time ?? clock.now(), 31 * 24 * 3_600_000))
  const commandHandler = sharedHandler(store, clock)
  const begin = { type: 'BeginMessage', facts: ids, text: 'Hello', segments: 1, at: clock.now() } as const
  let uuids = 0
  const nextId = () => uuid((uuids += 1))
  const by = { actor: 'test', eventId: nextId }
  for (const command of [begin, { type: 'EndMessage', attempt: 1, ending }] as const)
    rightOf(await commandHandler.execute(message, ids.message_id, command, by))
  const erasureId = erasureIdOf(contact_id)
  if (erasing.includes('contact')) {
    const facts = { erasure_id: erasureId, account_id, contact_id, by: 'operator' }
    rightOf(await commandHandler.execute(erasure, erasureId, { type: 'RequestErasure', facts }, by))
    const command = { type: 'EraseContact', contactId: contact_id, erasureId, optHistory: [] } as const
    rightOf(await commandHandler.execute(contact, contact_id, command, by))
  }
  if (erasing.includes('message')) {
    const command = { type: 'EraseMessage', of: ids, beganAt: clock.now(), history: [] } as const
    rightOf(await commandHandler.execute(message, ids.message_id, command, by))
  }
  if (erasing.includes('completed')) {
    const summary = { webhooks: [], webhooks_count: 0, dropped: [], dropped_count: 0 }
    rightOf(await commandHandler.execute(erasure, erasureId, { type: 'CompleteErasure', summary }, by))
  }
  const asked: Array<string> = []
  const settle: Messenger['settle'] = ({ to }) => {
    asked.push(to)
    return Promise.resolve({ kind: 'accepted', providerId: 'SM1' })
  }
  const ports = { store, commandHandler, messenger: { settle }, clock, monotonic: turnTime, logger: recordingLogger() }
  const document = { created_at: clock.now(), id: ids.message_id, account_id, contact_id, engagement_id }
  const { remove } = messageRetention({ ...ports, ids: { uuid: nextId } })
  const isRemoved = await remove(document as MessageDocument, testLease('retention'))
  const { events } = rightOf(await store.read(`message-${ids.message_id}`))
  return { isRemoved, asked, types: events.map(({ type }) => type), number: numbers.get(contact_id) }
}

test('while a conversation goes on its texts are kept, however old they are', async (t) => {
  const sent = { kind: 'sent', providerId: 'SM1' } as const
  t.like(await removed(false, sent), { isRemoved: false, types: ['MessageBegun', 'MessageSent'] })
  t.like(await removed(true, sent), { isRemoved: true, types: ['MessageErased'], asked: [] })
})

test('before a text of which nobody could tell is removed, the provider is asked with the number of its contact', async (t) => {
  const { types, asked, number } = await removed(true, { kind: 'unknown', reason: 'no answer' })
  t.deepEqual(types, ['MessageErased', 'MessageCopyFound'])
  t.deepEqual(asked, [String(number)])
})

test('while its contact is being erased a text is left to that, which asks the provider with the number of a lead', async (t) => {
  const unknown = { kind: 'unknown', reason: 'no answer' } as const
  const begun = ['MessageBegun', 'MessageFailed']
  t.like(await removed(true, unknown, ['contact']), { isRemoved: false, types: begun, asked: [] })
  const closed = [...begun, 'MessageErased']
  t.like(await removed(true, unknown, ['contact', 'message']), { isRemoved: false, types: closed, asked: [] })
  const ended = await removed(true, unknown, ['contact', 'message', 'completed'])
  t.like(ended, { isRemoved: true, types: ['MessageErased'] })
})
