import test from 'ava'
import { randomIds } from '../../../../adapters/node/ids.js'
import { aggregateCache } from '../../../../app/commands/aggregate-cache.js'
import { storedAggregates } from '../../../../app/commands/aggregates.js'
import { clientCommands } from '../../../../app/commands/client-commands.js'
import { commandHandler } from '../../../../app/commands/command-handler.js'
import { reactionChains } from '../../../../app/commands/reactions/reaction-chains.js'
import { reactor } from '../../../../app/commands/reactions/reactor.js'
import { unitOfWork } from '../../../../app/commands/reactions/unit-of-work.js'
import { streamQueue } from '../../../../app/commands/stream-queue.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { engagement } from '../../../../domain/engagement.js'
import { beginning } from '../../../../domain/event.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import { lead } from '../../../../domain/lead.js'
import type { AppendAll, EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { accountId, contactId, engagementId, leadFacts, leadId } from '../../../kit/domain/samples.js'
import { eventsIn, memoryAppendAll, memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { noSnapshots, sharedHandler } from '../../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'

const clock = manualClock()
const ids = randomIds(clock)

type Changed = {
  readonly log?: ReturnType<typeof memoryLog>
  readonly append?: EventStore['append']
  readonly appendAll?: AppendAll
}

/** A process that alone writes to its log, and how often it has appended. */
const open = ({ log = memoryLog(), append, appendAll = memoryAppendAll(log) }: Changed = {}) => {
  const stored = memoryEventStore(log)
  const appended = { atOnce: 0, oneByOne: 0 }
  const store: EventStore = {
    ...stored,
    append: (...one) => {
      appended.oneByOne += 1
      return (append ?? stored.append)(...one)
    },
  }
  const cache = aggregateCache(storedAggregates(store, noSnapshots))
  const queue = streamQueue(commandHandler({ aggregates: cache, store, clock }))
  const reactions = reactor({ commandHandler: queue.ofRequests, logger: recordingLogger() })
  const { execute } = clientCommands({
    store,
    commandHandler: queue.ofRequests,
    reactor: reactions,
    ids,
    unitOfWork: unitOfWork({
      ...{ cache, queue, reactor: reactions, store, clock },
      appendAll: async (appends) => {
        const all = await appendAll(appends)
        if (E.isRight(all)) appended.atOnce += 1
        return all
      },
    }),
    untilAnswerable: () => Promise.resolve(),
  })
  return {
    log: () => eventsIn(log),
    appended,
    queue,
    hasUnfinished: reactions.hasUnfinished,
    submit: (n: number, ofContact = 1) => {
      const own = { lead_id: leadId(n), engagement_id: engagementId(n), contact_id: contactId(ofContact) }
      const facts = leadFacts(own)
      const command = { type: 'SubmitLead', facts } as const
      return execute(lead, facts.lead_id, command, 'vendor', newAggregate(lead))
    },
    optOut: (n: number) => {
      const command = { type: 'RecordActivity', accountId: accountId(), label: 'opted_out', at: clock.now() } as const
      return execute(engagement, engagementId(n), command, 'operator')
    },
  }
}

const typesOf = (events: ReadonlyArray<RecordedEvent>): ReadonlyArray<string> => events.map(({ type }) => type)
const firstLead = ['LeadSubmitted', 'ContactCreated', 'ContactEngaged', 'EngagementStarted', 'ActivityRecorded']

test('a lead and all that follows from it is appended at once', async (t) => {
  const process = open()
  const { events } = rightOf(await process.submit(1))
  t.deepEqual(typesOf(events), ['LeadSubmitted'], 'the command tells its own events')
  t.deepEqual(events, process.log().slice(0, 1), 'as they stand in the log')
  t.deepEqual(typesOf(process.log()), firstLead)
  rightOf(await process.submit(2))
  t.deepEqual(process.appended, { atOnce: 2, oneByOne: 0 })
})

test('what is appended at once is what the reactions would write one after the other, byte for byte', async (t) => {
  const process = open()
  for (const n of [1, 2, 3]) rightOf(await process.submit(n, n === 3 ? 2 : 1))
  const all = process.log()
  for (const cause of all.filter(({ type }) => type === 'LeadSubmitted')) {
    const other = memoryEventStore(memoryLog())
    for (const { stream, revision, position, ...event } of all) {
      if (position > cause.position) break
      rightOf(await other.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
    }
    const followed = await reactionChains().carryOutAll(sharedHandler(other, clock), [cause])
    const atOnce = all.filter(({ correlationId }) => correlationId === cause.correlationId)
    // An append tells the position of its last event alone.
    const withoutPosition = (event: RecordedEvent) => ({ ...event, position: beginning })
    t.true(E.isRight(followed))
    if (E.isRight(followed)) t.deepEqual(followed.right.map(withoutPosition), atOnce.map(withoutPosition))
  }
})

test('leads of a few numbers that come at the same time have one contact a number, and one engagement each', async (t) => {
  const process = open()
  const done = await Promise.all(Array.from({ length: 40 }, (_, n) => process.submit(n + 1, (n % 3) + 1)))
  t.true(done.every(E.isRight))
  const count = (type: string): number => process.log().filter((event) => event.type === type).length
  t.deepEqual(['LeadSubmitted', 'ContactCreated', 'ContactEngaged', 'EngagementStarted'].map(count), [40, 3, 40, 40])
  t.true(process.appended.atOnce >= 3, 'the first of each number')
})

test('while another command is under way for the contact, a lead of it is stored, and waits for its turn', async (t) => {
  const process = open()
  const unlock = process.queue.tryLock(`contact-${contactId(1)}`)
  t.not(unlock, undefined)
  t.is(process.queue.tryLock(`contact-${contactId(1)}`), undefined)
  const submitted = process.submit(1)
  await process.submit(2, 2)
  t.deepEqual(typesOf(process.log()).toSorted(), ['LeadSubmitted', ...firstLead].toSorted())
  unlock?.()
  rightOf(await submitted)
  t.deepEqual(typesOf(process.log()).toSorted(), [...firstLead, ...firstLead].toSorted())
  t.is(process.appended.atOnce, 1)
  t.not(process.queue.tryLock(`contact-${contactId(1)}`), undefined, 'nobody has the lock any more')
})

test('where the log does not take all at once, a lead goes on one append after the other', async (t) => {
  const process = open({ appendAll: () => Promise.resolve(E.left({ kind: 'conflict' })) })
  rightOf(await process.submit(1))
  t.deepEqual(typesOf(process.log()), firstLead)
  t.deepEqual(process.appended, { atOnce: 0, oneByOne: 3 })
})

test('a lead is stored also where what follows can not be, and that is left to be finished', async (t) => {
  const log = memoryLog()
  const { append } = memoryEventStore(log)
  const unwritable: EventStore['append'] = (stream, ...rest) =>
    stream.startsWith('contact')
      ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'test' }))
      : append(stream, ...rest)
  const process = open({ log, append: unwritable, appendAll: () => Promise.resolve(E.left({ kind: 'conflict' })) })
  rightOf(await process.submit(1))
  t.deepEqual(typesOf(process.log()), ['LeadSubmitted'])
  t.true(process.hasUnfinished())
})

test('what follows in very many streams is appended one after the other, so that others need not wait for all of it', async (t) => {
  const process = open()
  for (let n = 1; n <= 60; n += 1) rightOf(await process.submit(n))
  t.deepEqual(process.appended, { atOnce: 60, oneByOne: 0 })
  rightOf(await process.optOut(60))
  const ended = process.log().filter(({ type }) => type === 'EngagementEnded')
  t.is(ended.length, 60)
  t.is(process.appended.atOnce, 60)
  t.true(process.appended.oneByOne > 50)
})
