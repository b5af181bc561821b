import test from 'ava'
import { foldStream } from '../../../domain/aggregate.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { documentSnapshots } from '../../../app/commands/snapshots.js'
import type { Decider } from '../../../domain/decider.js'
import { engagement, type EngagementCommand } from '../../../domain/engagement.js'
import type { DomainEvent } from '../../../domain/events.js'
import { playbook, type PlaybookCommand } from '../../../domain/playbook.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import type { AnyCommand } from '../../../domain/ports.js'
import { remark, type RemarkCommand } from '../../../domain/remark.js'
import { senderOptOut, type SenderOptOutCommand } from '../../../domain/sender-opt-out.js'
import { streamOf } from '../../../domain/stream-name.js'
import {
  accountId,
  at,
  attribution,
  contactId,
  engagementId,
  messageId,
  playbookId,
  reportId,
  senderOptOutId,
} from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { cachedHandler, sharedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { settled } from '../../kit/time/turns.js'

const clock = manualClock()
const envelope = { actor: 'test', eventId: randomIds(clock).uuid }

/** The times that a command is given to one stream. */
const repeats = 400

/** Its newest 100, and once, before there is a snapshot, all of the 100 or so that there are. */
const mostEvents = 250

const staysCheap = <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  what: string,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  commandAt: (n: number) => Command,
): void => {
  for (const [kind, handlerOn] of Object.entries({ cached: cachedHandler, shared: sharedHandler }))
    test(`${kind}: however often ${what}, the next time is decided by as few events`, async (t) => {
      const stored = memoryEventStore(memoryLog())
      const { store, taken } = countedReads(stored)
      const documents = memoryDocuments(documentState())
      const open = () => handlerOn(store, clock, documentSnapshots(documents))
      const handler = open()
      let most = 0
      for (let n = 1; n <= repeats; n += 1) {
        rightOf(await handler.execute(decider, id, commandAt(n), envelope))
        await settled()
        most = Math.max(most, taken().events)
      }
      t.true(most <= mostEvents, `${most} events`)

      const { events } = rightOf(await stored.read(streamOf(decider, id)))
      t.true(events.length >= repeats)
      const whole = foldStream(decider, events)
      t.deepEqual(rightOf(await open().load(decider, id)).state, whole)
      const afterStart = taken().events
      t.true(afterStart <= mostEvents, `${afterStart} events`)
    })
}

const heard = (n: number): EngagementCommand =>
  n === 1
    ? { type: 'StartEngagement', attribution: attribution(), submittedAt: at(), engagedAt: at(), filtered: false }
    : {
        type: 'HearReply',
        messageId: messageId(n),
        meaning: 'reply',
        pausedUntil: at(n),
        givesUpAt: at(n),
        at: at(n),
      }
staysCheap('a contact replies', engagement, engagementId(), heard)

const concerned = { engagementId: engagementId(), accountId: accountId(), contactId: contactId() }
const remarked = (n: number): RemarkCommand => ({
  type: 'MakeRemark',
  ...concerned,
  remark: { note: `note ${n}`, properties: {} },
  reportId: reportId(n),
})
staysCheap('something is said of an engagement', remark, engagementId(), remarked)

const changed = (n: number): PlaybookCommand =>
  n === 1
    ? { type: 'CreatePlaybook', playbookId: playbookId(), accountId: accountId(), settings: defaultSettings }
    : { type: 'ChangePlaybook', accountId: accountId(), settings: { title: `Version ${n}` } }
staysCheap('a playbook changes', playbook, playbookId(), changed)

const stopped = (n: number): SenderOptOutCommand => ({
  type: 'OptOutOfSender',
  optOutId: senderOptOutId(),
  textId: `text ${n}`,
  at: at(n),
})
staysCheap('a number says STOP to a sender', senderOptOut, senderOptOutId(), stopped)
