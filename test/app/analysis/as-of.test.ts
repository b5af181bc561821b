import test from 'ava'
import { asOf, difference, isAskable } from '../../../app/analysis/as-of.js'
import type { DomainEvent } from '../../../domain/events.js'
import { positionOf, type Position } from '../../../domain/event.js'
import type { LogReader } from '../../../domain/ports.js'
import { categoryOf, idOf } from '../../../domain/stream-name.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  engagementId,
  leadFacts,
  leadId,
  messageId,
  playbookId,
  recordId,
  resendId,
  senderOptOutId,
  sourceId,
  submissionKeyId,
  webhookId,
} from '../../kit/domain/samples.js'
import type { History } from '../../kit/domain/histories.js'
import { livelyHistory, writeHistory } from '../../kit/domain/lively-history.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { rightOf } from '../../kit/right-of.js'

const shown = { isPersonalShown: true }

const logOf = (history: History): Promise<LogReader> => writeHistory(memoryEventStore(memoryLog()), history)

/** Where the nth event of the history stands. */
const positionOfNth = (n: number): Position => positionOf(BigInt(n))

test('as of any moment it says what it said at that moment, and the events since are those that came later', async (t) => {
  const history = livelyHistory()
  const log = await logOf(history)
  const ids = new Set(history.map(({ stream }) => idOf(stream)).filter(isAskable))
  t.true(ids.size > 5)
  for (const [index, event] of history.entries()) {
    const id = idOf(event.stream)
    // An engagement's remarks have its id.
    if (!ids.has(id) || index % 3 !== 0 || categoryOf(event.stream) === 'remark') continue
    const then = await logOf(history.slice(0, index + 1))
    const { since, ...state } = await asOf(log, id, { position: positionOfNth(index + 1) }, shown)
    const { since: none, ...stateThen } = await asOf(then, id, { position: positionOfNth(history.length) }, shown)
    t.deepEqual(state, stateThen)
    t.deepEqual(none, [])
    const later = history.slice(index + 1).filter(({ stream }) => stream === event.stream)
    t.deepEqual(
      since.map(({ id: eventId }) => eventId),
      later.map(({ id: eventId }) => eventId),
    )
  }
})

test('as of a time is as of all that was recorded up to it', async (t) => {
  const history = livelyHistory()
  const log = await logOf(history)
  const created = history.find(({ type }) => type === 'MarketingSourceCreated')
  if (created === undefined) return t.fail('there is no source')
  const id = idOf(created.stream)
  const before = history.find(({ time }) => time < created.time)?.time
  if (before === undefined) return t.fail('nothing came before it')
  t.deepEqual((await asOf(log, id, { at: before }, shown)).state, null)
  t.is((await asOf(log, id, { at: created.time }, shown)).state?.['source_id'], id)
})

test('a difference names what changed, with both values, and the events between', async (t) => {
  const history = livelyHistory()
  const log = memoryEventStore(memoryLog())
  await writeHistory(log, history)
  const created = history.findLast(({ type }) => type === 'MarketingSourceCreated')
  if (created === undefined) return t.fail('there is no source')
  const id = idOf(created.stream)
  const { revision } = rightOf(await log.read(created.stream))
  const suspended = newEvent(9_999, { type: 'MarketingSourceSuspended', data: {} })
  rightOf(await log.append(created.stream, revision, [suspended]))
  const moments = [
    { position: positionOfNth(history.length) },
    { position: positionOfNth(history.length + 1) },
  ] as const
  const { changed, events } = await difference(log, id, moments, shown)
  t.deepEqual(changed, { suspended: { before: false, after: true } })
  t.deepEqual(
    (events as ReadonlyArray<{ readonly id: string }>).map(({ id: eventId }) => eventId),
    [suspended.id],
  )
})

test('whatever has an id that people see can be asked about by it', (t) => {
  const seen = [
    ...[accountId(), contactId(), leadId(), engagementId(), messageId(), playbookId(), sourceId()],
    ...[conversionId(), recordId(), webhookId(), deliveryId(), resendId()],
  ]
  t.deepEqual(seen.filter(isAskable), seen)
  t.deepEqual([submissionKeyId(), senderOptOutId(), 'message-1'].filter(isAskable), [])
})

test('the text of a message and the body of a delivery are shown only where personal values are asked for', async (t) => {
  const ids = { account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() }
  const text = 'Hi Ada'
  const message: DomainEvent = {
    type: 'MessageBegun',
    data: { ...ids, message_id: messageId(), step: 0, text, segments: 1, begun_at: at() },
  }
  const due: DomainEvent = { type: 'DeliveryDue', data: { ...deliveryFacts(), body: text } }
  const log = memoryEventStore(memoryLog())
  rightOf(await log.append(`message-${messageId()}`, 'no-stream', [newEvent(1, message)]))
  rightOf(await log.append(`delivery-${deliveryId()}`, 'no-stream', [newEvent(2, due)]))
  for (const id of [messageId(), deliveryId()]) {
    const told = async (isPersonalShown: boolean) =>
      JSON.stringify(await asOf(log, id, { position: positionOfNth(2) }, { isPersonalShown }))
    t.true((await told(true)).includes(text), id)
    t.false((await told(false)).includes(text), id)
  }
})

test('the names of the fields that a vendor sends of a person are told only where personal values are asked for', async (t) => {
  const field = 'nickname of Ada'
  const { details, source_id } = leadFacts()
  const created: DomainEvent = {
    type: 'ContactCreated',
    data: {
      contact_id: contactId(),
      account_id: accountId(),
      details: { ...details, additional_info: { [field]: 'Countess' } },
      referral: { marketing_source_id: source_id, marketing_source_title: 'Search ads', lead_id: leadId() },
    },
  }
  const log = memoryEventStore(memoryLog())
  rightOf(await log.append(`contact-${contactId()}`, 'no-stream', [newEvent(1, created)]))
  const moments = [{ position: positionOfNth(0) }, { position: positionOfNth(1) }] as const
  const told = async (isPersonalShown: boolean) =>
    JSON.stringify([
      await asOf(log, contactId(), moments[1], { isPersonalShown }),
      await difference(log, contactId(), moments, { isPersonalShown }),
    ])
  t.true((await told(true)).includes(field))
  t.false((await told(false)).includes(field))
})

test('what a state lists without order is told as a list', async (t) => {
  const history = livelyHistory()
  const log = await logOf(history)
  const started = history.find(({ type }) => type === 'EngagementStarted')
  const { state } = await asOf(log, idOf(started?.stream ?? ''), { position: positionOfNth(history.length) }, shown)
  const { labels } = state as { readonly labels: ReadonlyArray<string> }
  t.is(labels[0], 'started')
})

test('personal values are shown only where they are asked for, and secrets never', async (t) => {
  const history = livelyHistory()
  const log = await logOf(history)
  const everything = async (isPersonalShown: boolean): Promise<string> => {
    const moment = { position: positionOfNth(history.length) }
    const ids = [...new Set(history.map(({ stream }) => idOf(stream)))].filter(isAskable)
    return JSON.stringify(await Promise.all(ids.map((id) => asOf(log, id, moment, { isPersonalShown }))))
  }
  const personal = /@example|\+1415555|"first_name":/
  t.regex(await everything(true), personal)
  t.notRegex(await everything(false), personal)
  t.notRegex(await everything(true), /sealed|secret|hash/)
})
