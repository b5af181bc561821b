import { randomIds } from '../../../adapters/node/ids.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { neverAborted } from '../../../domain/abortable.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { Category, RecordedEvent } from '../../../domain/events.js'
import { lead, type LeadDetails } from '../../../domain/lead.js'
import type { EventStore } from '../../../domain/ports.js'
import { deliveryFanOut } from '../../../projections/delivery/fan-out/fan-out.js'
import { checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import { contactId, accountId, details, engagementId, leadFacts, leadId } from '../domain/samples.js'
import { documentState, memoryDocuments } from '../memory/documents.js'
import { memoryEventStore, memoryLog } from '../memory/event-store.js'
import { rightOf } from '../right-of.js'
import { manualClock } from '../time/manual-clock.js'
import { accountWithWebhook } from './account-with-webhook.js'
import { cachedHandler } from './command-handlers.js'
import { recordingLogger } from './recording-logger.js'

/**
 * An account with a webhook, a number whose leads are submitted, and a fan-out that sees the log as `seen` gives it and
 * writes to it as `writable` does.
 */
export const openFanOutStage = async (
  seen: (stored: EventStore) => EventStore = (stored) => stored,
  hasErasures = false,
  writable: (stored: EventStore) => EventStore = (stored) => stored,
) => {
  const stored = memoryEventStore(memoryLog())
  const store = seen(stored)
  const clock = manualClock()
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  const commandHandler = cachedHandler(writable(stored), clock)
  await accountWithWebhook(commandHandler, envelope)
  const { react } = reactor({ commandHandler, logger: recordingLogger() })
  const documents = memoryDocuments(documentState())
  let position: Position = beginning
  let fanOut: Follower | undefined

  const restart = async (): Promise<void> => {
    const checkpoint = checkpointIn(documents, 'delivery_projector', 1n)
    fanOut = deliveryFanOut({
      store,
      documents,
      commandHandler,
      hasErasures: () => Promise.resolve(hasErasures),
      checkpoint,
      logger: recordingLogger(),
    })
    position = await fanOut.begin(neverAborted)
  }

  return {
    stored,
    documents,
    commandHandler,
    envelope,
    restart,
    /** The same fan-out begins once more, as after a failure. */
    beginAgain: async (): Promise<void> => {
      position = (await fanOut?.begin(neverAborted)) ?? position
    },
    submit: async (n: number, changed: Partial<LeadDetails> = {}): Promise<void> => {
      const ids = { lead_id: leadId(n), account_id: accountId(), contact_id: contactId() }
      const facts = leadFacts({ ...ids, engagement_id: engagementId(n), details: details(changed) })
      const command = { type: 'SubmitLead', facts } as const
      await react(rightOf(await commandHandler.execute(lead, leadId(n), command, envelope, newAggregate(lead))).events)
    },
    /** Handles what has happened since it was called last; the first time it begins. */
    run: async (): Promise<void> => {
      if (fanOut === undefined) await restart()
      if (fanOut === undefined) return
      for await (const batch of store.history(position, fanOut.categories, neverAborted)) {
        await fanOut.handle(batch)
        position = batch.position
      }
    },
    written: async (category: Category): Promise<ReadonlyArray<RecordedEvent>> => {
      const all: Array<RecordedEvent> = []
      for await (const { events } of stored.history(beginning, [category], neverAborted)) all.push(...events)
      return all
    },
  }
}
