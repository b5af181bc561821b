import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { neverAborted } from '../../../domain/abortable.js'
import { delivery, type DeliveryCommand } from '../../../domain/delivery.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { streamOf } from '../../../domain/stream-name.js'
import { eraseDelivery } from '../../../projections/erasure/erased-deliveries.js'
import { at, deliveryFacts, deliveryId } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { turnTime } from '../../kit/time/turns.js'

const attempt = (n: number, delivered: boolean): DeliveryCommand => ({
  type: 'RecordAttempt',
  delivered,
  outcome: { attempt: n, status: delivered ? 200 : 500, reason: 'a status', duration_ms: 1, excerpt: 'Hello Ada' },
  nextAttemptAt: at(),
})

/** What is left of a delivery of which all this was recorded. */
const erasedAfter = async (...commands: ReadonlyArray<DeliveryCommand>) => {
  const store = memoryEventStore(memoryLog())
  const clock = manualClock()
  const commandHandler = sharedHandler(store, clock)
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  const due = { type: 'MakeDue', facts: deliveryFacts(), heldAt: undefined } as const
  for (const command of [due, ...commands])
    rightOf(await commandHandler.execute(delivery, deliveryId(), command, envelope))
  const ports = {
    ...{ store, commandHandler, clock, documents: memoryDocuments(documentState()), monotonic: turnTime },
    resends: { name: 'resends', failure: () => undefined, caughtUpTo: () => Promise.resolve() },
  }
  const why = { why: 'retention', envelopeOf: () => envelope, stopping: neverAborted } as const
  await eraseDelivery(ports, deliveryId(), why)
  return rightOf(await store.read(streamOf(delivery, deliveryId()))).events
}

/** The last attempt of each is recorded in an event of another type. */
const stories = {
  DeliverySucceeded: [attempt(1, false), attempt(2, true)],
  DeliveryAbandoned: Array.from({ length: mostAttempts }, (_, n) => attempt(n + 1, false)),
  DeliveryResent: [
    attempt(1, true),
    { type: 'RequestResend', resendId: null, dueAt: at() },
    { ...attempt(2, false), type: 'RecordResend' },
  ],
} satisfies Readonly<Record<string, ReadonlyArray<unknown>>>

for (const [last, commands] of Object.entries(stories)) {
  test(`of a delivery that is erased its attempts are told of, and no word of a receiver: ${last}`, async (t) => {
    const [closing, ...others] = await erasedAfter(...(commands as ReadonlyArray<DeliveryCommand>))
    t.deepEqual(others, [])
    if (closing?.type !== 'DeliveryErased') return t.fail('it is not closed')
    const { history } = closing.data
    t.is(history.at(-1)?.type, last)
    t.deepEqual(
      history.flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome.reason])),
      commands.filter(({ type }) => type !== 'RequestResend').map(() => 'a status'),
    )
    t.false(JSON.stringify(closing.data).includes('Ada'))
  })
}
