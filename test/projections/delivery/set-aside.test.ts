import test from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import { parkedEventIdOf } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { deliveryId, uuid } from '../../kit/domain/samples.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { delivered, numberOf, openStage } from '../../kit/parts/delivery-stage.js'
import { rightOf } from '../../kit/right-of.js'
import { settled } from '../../kit/time/turns.js'

const stream = `delivery-${deliveryId(1)}`

test('an outcome that can never be recorded is not posted again and again, but parked, and tried again when somebody asks', async (t) => {
  let isMended = false
  const refusing = (store: EventStore): EventStore => ({
    ...store,
    append: (...args) =>
      !isMended && args[0] === stream && args[1] !== 'no-stream'
        ? Promise.resolve(E.left({ kind: 'corrupt', reason: 'it is refused' }))
        : store.append(...args),
  })
  const { store, clock, project, addWebhook, makeDue, openWorker, until, state, close } = await openStage(refusing)
  t.teardown(close)
  const { follow, holdAll, sent } = openWorker(() => Promise.resolve(delivered))
  project()
  follow()
  holdAll()
  await addWebhook(1)
  for (const n of [1, 2, 3]) await makeDue(n, 1)
  await until(async () => (await state(2)).kind === 'succeeded' && (await state(3)).kind === 'succeeded')
  await settled()
  t.deepEqual(sent.map(numberOf).toSorted(), [1, 2, 3])

  const parked: Array<unknown> = []
  for await (const { events } of store.history(beginning, ['parked'], neverAborted))
    for (const event of events) if (event.type === 'EventParked') parked.push(event.data)
  const [due] = rightOf(await store.read(stream)).events
  const parkedId = parkedEventIdOf('delivery_projector', due?.id ?? '')
  t.like(parked, [{ parked_event_id: parkedId, event_stream: stream, reason: 'it is refused' }])
  t.is(parked.length, 1)

  isMended = true
  const cause = { actor: 'operator', eventId: () => uuid(99) }
  rightOf(await sharedHandler(store, clock).execute(parkedEvent, parkedId, { type: 'RequestRetry' }, cause))
  await until(async () => (await state(1)).kind === 'succeeded')
  t.is(sent.length, 4)
})
