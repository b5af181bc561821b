import test from 'ava'
import { erasuresOn, type Erasures } from '../../../app/commands/erasure/erasure-end.js'
import { requestErasure } from '../../../app/commands/erasure/erasure-request.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { abortable } from '../../../domain/abortable.js'
import type { Decider } from '../../../domain/decider.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { erasure } from '../../../domain/erasure.js'
import type { Position } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import { lead } from '../../../domain/lead.js'
import { message, type MessageCommand } from '../../../domain/message.js'
import type { AnyCommand } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { collectionOf } from '../../../projections/projection.js'
import { contacts } from '../../../projections/read-models/contacts.js'
import { logOf } from '../../kit/domain/log.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import {
  accountId,
  at,
  contactId,
  engagementId,
  leadFacts,
  leadId,
  messageId,
  positionAt,
  uuid,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { isOver } from '../../kit/time/turns.js'

const erased = { accountId: accountId(), contactId: contactId(), by: 'ticket-1' }
const erasureId = erasureIdOf(contactId())
const unavailable = { kind: 'unavailable', reason: 'the disk is full' } as const

/** What is asked for, in its order; `failing` names the command that the store does not take. */
const stage = ({ isRepeated = false, failing = 'none' } = {}) => {
  const asked: Array<string> = []
  const given: Array<object> = []
  const clientCommands = {
    execute: ({ category }: { readonly category: string }, id: string, command: { readonly type: string }) => {
      const { type } = command
      given.push(command)
      asked.push(`${type} of ${category}-${id}`)
      const events = isRepeated ? [] : [{ type, position: positionAt(asked.length) }]
      return Promise.resolve(type === failing ? E.left(unavailable) : E.right({ state: {}, events }))
    },
  } as unknown as ClientCommands
  const erasures: Erasures = {
    knownToAll: () => {
      asked.push('known to all')
      return Promise.resolve()
    },
    ended: (id, requestedAt) => {
      asked.push(`end of ${id} since ${String(requestedAt)}`)
      return Promise.resolve(E.right({ summary: undefined, isPurged: false }))
    },
  }
  const store = memoryEventStore(memoryLog())
  return { asked, given, store, erase: () => requestErasure({ store, clientCommands, erasures }, erased, 'operator') }
}

const commands = [
  `BeginErasures of account-${accountId()}`,
  `RequestErasure of erasure-${erasureId}`,
  `EraseContact of contact-${contactId()}`,
]

test('a contact is closed at once, and its end is waited for when every process knows of the erasure', async (t) => {
  const { asked, erase } = stage()
  t.like(await erase(), E.right({ isPurged: false, events: [{ type: 'RequestErasure' }] }))
  t.deepEqual(asked, [...commands, 'known to all', `end of ${erasureId} since 2`])
})

test('what closes a contact tells when it opted out', async (t) => {
  const { given, store, erase } = stage()
  const ids = { contact_id: contactId(), account_id: accountId() }
  await writeHistory(store, logOf([`contact-${contactId()}`, { type: 'NumberOptedOut', data: ids }]))
  await erase()
  const optHistory = [{ meaning: 'opted_out', at: at(1_000) }]
  t.deepEqual(given.at(-1), { type: 'EraseContact', contactId: contactId(), erasureId, optHistory })
})

test('an erasure that is asked for again waits for nothing, and tells how far the first one has come', async (t) => {
  const { asked, erase } = stage({ isRepeated: true })
  t.like(await erase(), E.right({ isPurged: false, events: [] }))
  t.deepEqual(asked, [...commands, `end of ${erasureId} since undefined`])
})

for (const [nth, failing] of ['BeginErasures', 'RequestErasure', 'EraseContact'].entries()) {
  test(`where the store does not take ${failing} nothing more is done, and the client is told`, async (t) => {
    const { asked, erase } = stage({ failing })
    t.deepEqual(await erase(), E.left(unavailable))
    t.deepEqual(asked, commands.slice(0, nth + 1))
  })
}

/** Where a read model that shows contacts is built anew. */
const build = collectionOf(contacts, 'next')

const summary = { webhooks: [], webhooks_count: 0, dropped: [], dropped_count: 0 }

/** An erasure that was requested, and what tells of its end while the position of all erasures stays before it. */
const waitingStage = async () => {
  const store = memoryEventStore(memoryLog())
  const commandHandler = sharedHandler(store, manualClock())
  const documents = memoryDocuments(documentState())
  const time = manualTime()
  let passed = (): void => undefined
  /** How far the read models have come; undefined: to the end. */
  let shown: Position | undefined
  const { ended } = erasuresOn({
    commandHandler,
    store,
    eraser: {
      caughtUpTo: (_position, signal) =>
        abortable(signal, (done) => {
          passed = done
          return undefined
        }),
    },
    readModelFollowers: [
      {
        caughtUpTo: () => Promise.resolve(),
        position: async () => shown ?? rightOf(await store.head()),
      },
    ],
    documents,
    builds: [build],
    purges: [],
    isShared: true,
    monotonic: time.process(),
  })
  const facts = { erasure_id: erasureId, account_id: accountId(), contact_id: contactId(), by: 'ticket-1' }
  const execute = async <State, Command extends AnyCommand, Event extends DomainEvent>(
    decider: Decider<State, Command, Event, never>,
    id: string,
    command: Command,
    n: number,
  ) => rightOf(await commandHandler.execute(decider, id, command, { actor: 'test', eventId: () => uuid(n) }))
  const { events } = await execute(erasure, erasureId, { type: 'RequestErasure', facts }, 1)
  return {
    time,
    documents,
    execute,
    shows: (position: Position | undefined) => {
      shown = position
    },
    ended: ended(erasureId, events[0]?.position),
    endedBefore: () => ended(erasureId, undefined),
    complete: () => execute(erasure, erasureId, { type: 'CompleteErasure', summary }, 2),
    passed: () => {
      passed()
    },
  }
}

test('an erasure that is over is told of at once, though one before it in the log is not', async (t) => {
  const { time, ended, complete } = await waitingStage()
  await time.advance(1_000)
  t.false(await isOver(ended))
  await complete()
  await time.advance(500)
  t.true(await isOver(ended))
  t.deepEqual(await ended, E.right({ summary, isPurged: true }))
})

test('an erasure that was parked is told of as pending at once, and any other after five seconds', async (t) => {
  const parked = await waitingStage()
  parked.passed()
  t.true(await isOver(parked.ended))
  t.deepEqual(await parked.ended, E.right({ summary: undefined, isPurged: false }))
  const { time, ended } = await waitingStage()
  await time.advance(4_999)
  t.false(await isOver(ended))
  await time.advance(1)
  t.deepEqual(await ended, E.right({ summary: undefined, isPurged: false }))
})

test('an erasure is pending while a read model is built anew by any process, or what a failed rebuild has read still stands', async (t) => {
  const { documents, complete, endedBefore } = await waitingStage()
  await complete()
  rightOf(await documents.prepare(build))
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: false }))
  rightOf(await documents.drop(build))
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: true }))
})

test('an erasure is pending until a lead that came meanwhile is closed, and the read models show that', async (t) => {
  const { complete, execute, endedBefore, shows } = await waitingStage()
  await complete()
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: true }))
  await execute(lead, leadId(), { type: 'SubmitLead', facts: leadFacts() }, 3)
  const { events } = await execute(erasure, erasureId, { type: 'AddLateLead', erasureId, leadId: leadId() }, 4)
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: false }))
  await execute(lead, leadId(), { type: 'EraseLead', erasureId, submittedAt: at() }, 5)
  shows(events[0]?.position)
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: false }))
  shows(undefined)
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: true }))
})

test('an erasure is pending until a text that came meanwhile is closed, and then over, whatever becomes of its copy', async (t) => {
  const { complete, execute, endedBefore } = await waitingStage()
  await complete()
  const ids = {
    message_id: messageId(),
    account_id: accountId(),
    contact_id: contactId(),
    engagement_id: engagementId(),
  }
  const facts = { ...ids, text: 'Hello', meaning: 'reply', paused_until: at(), gives_up_at: at() } as const
  await execute(message, messageId(), { type: 'ReceiveMessage', facts: { ...facts, provider_id: 'SM1' } }, 3)
  await execute(erasure, erasureId, { type: 'AddLateMessage', erasureId, ids }, 4)
  t.deepEqual(await endedBefore(), E.right({ summary, isPurged: false }))
  const later: ReadonlyArray<MessageCommand> = [
    { type: 'EraseMessage', of: ids, beganAt: at(), history: [] },
    { type: 'RecordKeptCopies', attempt: 1, until: at(1_000), reason: 'no answer' },
    { type: 'ReportMessage', report: { kind: 'taken', providerId: 'SM2' }, retryAt: undefined },
    { type: 'RecordErasedCopies' },
  ]
  for (const [n, command] of later.entries()) {
    const { events } = await execute(message, messageId(), command, 5 + n)
    t.is(events.length, 1, command.type)
    t.deepEqual(await endedBefore(), E.right({ summary, isPurged: true }), command.type)
  }
})
