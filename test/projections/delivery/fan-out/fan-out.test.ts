import test from 'ava'
import { neverAborted } from '../../../../domain/abortable.js'
import { contact } from '../../../../domain/contact.js'
import { beginning } from '../../../../domain/event.js'
import { anyProjection, collectionOf } from '../../../../projections/projection.js'
import { contacts } from '../../../../projections/read-models/contacts.js'
import { applyBatch } from '../../../../projections/subscriptions/runner.js'
import { contactId, engagementId, erasureId } from '../../../kit/domain/samples.js'
import { countedReads } from '../../../kit/parts/counted-reads.js'
import { openFanOutStage } from '../../../kit/parts/fan-out-stage.js'
import { rightOf } from '../../../kit/right-of.js'

/** A stage that counts what the fan-out reads. */
const openStage = async () => {
  let counted: ReturnType<typeof countedReads> | undefined
  const stage = await openFanOutStage((stored) => (counted = countedReads(stored)).store)
  const { stored, documents, submit, written } = stage
  await stage.restart()
  return {
    ...stage,
    taken: (category?: string) => counted?.taken(category) ?? { calls: 0, events: 0, bytes: 0 },
    submit: (n: number) => submit(n, { additional_info: { order: String(n) } }),
    /** The read model of the contacts shows what has happened. */
    show: async () => {
      rightOf(await documents.prepare(collectionOf(contacts)))
      for await (const batch of stored.history(beginning, contacts.categories, neverAborted))
        await applyBatch(anyProjection(contacts), documents, batch)
    },
    bodies: async () =>
      (await written('delivery')).flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.body] : [])),
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

test('nothing becomes due of a contact that was erased before the fan-out came to its activities', async (t) => {
  for (const isErased of [false, true]) {
    const { submit, commandHandler, cause, run, written } = await openFanOutStage((stored) => stored, isErased)
    await submit(1)
    const erase = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId() } as const
    if (isErased) rightOf(await commandHandler.execute(contact, contactId(), erase, cause))
    await run()
    t.is((await written('delivery')).length, isErased ? 0 : 1)
  }
})

test('of activities that one append recorded each delivery is listed in its turn', async (t) => {
  const { submit, commandHandler, cause, run, written } = await openFanOutStage()
  await submit(1)
  const optOut = { type: 'OptOut', engagementId: engagementId() } as const
  rightOf(await commandHandler.execute(contact, contactId(), optOut, cause))
  await submit(2)
  await run()
  const made = (await written('delivery')).flatMap(({ type, data, time }) =>
    type === 'DeliveryDue' ? [{ label: data.label, time }] : [],
  )
  t.deepEqual(
    made.toSorted((one, other) => (one.time < other.time ? -1 : 1)).map(({ label }) => label),
    ['started', 'started', 'filtered'],
  )
  t.is(new Set(made.slice(1).map(({ time }) => time)).size, 2)
})
