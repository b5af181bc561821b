import test from 'ava'
import { reactor } from '../../../../app/commands/reactions/reactor.js'
import { randomIds } from '../../../../adapters/node/ids.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { newAggregate } from '../../../../domain/aggregate.js'
import { beginning, type Position } from '../../../../domain/event.js'
import { lead } from '../../../../domain/lead.js'
import { deliveryFanOut } from '../../../../projections/delivery/fan-out/fan-out.js'
import { anyProjection, collectionOf } from '../../../../projections/projection.js'
import { contacts } from '../../../../projections/read-models/contacts.js'
import { checkpointIn } from '../../../../projections/subscriptions/checkpoint.js'
import { applyBatch } from '../../../../projections/subscriptions/runner.js'
import { accountId, contactId, details, engagementId, leadFacts, leadId } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { cachedHandler } from '../../../kit/parts/command-handlers.js'
import { countedReads } from '../../../kit/parts/counted-reads.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { accountWithWebhook } from '../../notices/account-with-webhook.js'

/** An account with a webhook, one number whose leads are submitted, and a fan-out that counts what it reads. */
const openStage = async () => {
  const stored = memoryEventStore(memoryLog())
  const clock = manualClock()
  const cause = { actor: 'test', eventId: randomIds(clock).uuid }
  const commandHandler = cachedHandler(stored, clock)
  await accountWithWebhook(commandHandler, cause)
  const { react } = reactor({ commandHandler, logger: recordingLogger() })
  const documents = memoryDocuments(documentState())
  const { store, taken } = countedReads(stored)
  let position: Position = beginning
  const begin = async () => {
    const checkpoint = checkpointIn(documents, 'delivery_projector', 1n)
    const fanOut = deliveryFanOut({ store, documents, commandHandler, checkpoint, logger: recordingLogger() })
    position = await fanOut.begin(neverAborted)
    return fanOut
  }
  let fanOut = await begin()
  return {
    taken,
    restart: async () => {
      fanOut = await begin()
    },
    submit: async (n: number) => {
      const facts = leadFacts({
        lead_id: leadId(n),
        account_id: accountId(),
        contact_id: contactId(),
        engagement_id: engagementId(n),
        details: details({ additional_info: { order: String(n) } }),
      })
      const command = { type: 'SubmitLead', facts } as const
      await react(rightOf(await commandHandler.execute(lead, leadId(n), command, cause, newAggregate(lead))).events)
    },
    run: async () => {
      for await (const batch of store.history(position, fanOut.categories, neverAborted)) {
        await fanOut.handle(batch)
        position = batch.position
      }
    },
    /** The read model of the contacts shows what has happened. */
    show: async () => {
      rightOf(await documents.prepare(collectionOf(contacts)))
      for await (const batch of stored.history(beginning, contacts.categories, neverAborted))
        await applyBatch(anyProjection(contacts), documents, batch)
    },
    bodies: async () => {
      const made: Array<string> = []
      for await (const { events } of stored.history(beginning, ['delivery'], neverAborted)) {
        for (const event of events) if (event.type === 'DeliveryDue') made.push(event.data.body)
      }
      return made
    },
  }
}

test('the five-hundredth lead of a number costs the fan-out the reads of the first one', async (t) => {
  const { submit, run, taken, bodies } = await openStage()
  await submit(1)
  await run()
  const first = taken()
  for (let n = 2; n < 500; n += 1) await submit(n)
  await run()
  taken()
  await submit(500)
  await run()
  t.deepEqual(taken(), first)
  const orders = (await bodies()).map((body) => /"order":"(\d+)"/.exec(body)?.[1])
  t.deepEqual(
    orders,
    Array.from({ length: 500 }, (_, n) => String(n + 1)),
  )
})

test('after a restart a contact with many leads is read for the first activity that follows, and for no other', async (t) => {
  const { submit, run, restart, taken, bodies } = await openStage()
  for (let n = 1; n <= 50; n += 1) await submit(n)
  await run()
  await restart()
  for (let n = 51; n <= 150; n += 1) await submit(n)
  taken()
  await run()
  t.true(taken('contact-').calls <= 2)
  t.is((await bodies()).length, 150)
})

test('after a restart a contact with hundreds of leads is read by a hundred events at most, wherever its read model stands', async (t) => {
  for (const isShownFirst of [true, false]) {
    const { submit, show, run, restart, taken, bodies } = await openStage()
    for (let n = 1; n <= 300; n += 1) await submit(n)
    await run()
    if (isShownFirst) await show()
    await restart()
    for (let n = 301; n <= 305; n += 1) await submit(n)
    if (!isShownFirst) await show()
    taken()
    await run()
    const { events } = taken('contact-')
    t.true(events <= 100, `${events} events`)
    t.is(/"order":"(\d+)"/.exec((await bodies()).at(-1) ?? '')?.[1], '305')
  }
})
