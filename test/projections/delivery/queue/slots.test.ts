import test from 'ava'
import { processSlots } from '../../../../projections/delivery/queue/slots.js'
import { webhookQueue, type WebhookQueue } from '../../../../projections/delivery/queue/webhook-queue.js'
import { testLease } from '../../../kit/parts/lease.js'
import { deliveryId, webhookId } from '../../../kit/domain/samples.js'

const openQueue = (n: number): WebhookQueue => webhookQueue(webhookId(n), testLease('shard'))

test('a slot that becomes free wakes one of the queues that wait, and another only when that one has given it up', (t) => {
  const slots = processSlots()
  const busy = openQueue(0)
  const [giveBack] = Array.from({ length: 256 }, () => slots.take(busy))
  const queues = [openQueue(1), openQueue(2), openQueue(3)]
  queues.forEach(slots.wait)
  const woken: Array<WebhookQueue> = []
  const wake = (): void => slots.wake((queue) => woken.push(queue))
  wake()
  t.deepEqual(woken, [])
  giveBack?.()
  wake()
  wake()
  t.deepEqual(woken, queues.slice(0, 1))
  // The first one needed no slot.
  for (const queue of woken) slots.releaseKept(queue)
  wake()
  t.deepEqual(woken, queues.slice(0, 2))
})

test('a slow queue waits for one of the slots of slow queues, and keeps no other waiting', (t) => {
  const slots = processSlots()
  const slow = openQueue(1)
  slow.limit = { requests: 256, isSlow: true }
  const fast = openQueue(2)
  const taken = Array.from({ length: 128 }, () => slots.take(slow))
  t.is(slots.freeFor(slow), 0)
  t.is(slots.freeFor(fast), 8)
  slots.wait(slow)
  slots.wake(() => t.fail())
  // A webhook that recovered gives back what it took while it was slow.
  slow.limit = { requests: 256, isSlow: false }
  for (const giveBack of taken) giveBack()
  t.is(slots.taken(), 0)
  slow.limit = { requests: 256, isSlow: true }
  t.is(slots.freeFor(slow), 128)
})

test('whoever waits longest is woken first: webhooks that are busy keep none that is slow waiting', (t) => {
  const slots = processSlots()
  const taken = Array.from({ length: 256 }, () => slots.take(openQueue(0)))
  const [busy, slow, other] = [openQueue(1), openQueue(2), openQueue(3)]
  slow.limit = { requests: 1, isSlow: true }
  for (const queue of [busy, slow, other]) slots.wait(queue)
  const woken: Array<WebhookQueue> = []
  for (const giveBack of taken.slice(0, 4)) {
    giveBack()
    slots.wake((queue) => {
      woken.push(queue)
      slots.take(queue)
      // What is busy waits again at once.
      if (queue !== slow) slots.wait(queue)
    })
  }
  t.deepEqual(woken, [busy, slow, other, busy])
})

test('a slot that is kept for a queue is free for it and for no other, and takes nothing from the part of the slow ones', (t) => {
  const slots = processSlots()
  const [giveBack, another] = Array.from({ length: 256 }, () => slots.take(openQueue(0)))
  const [fast, slow] = [openQueue(1), openQueue(2)]
  slow.limit = { requests: 8, isSlow: true }
  slots.wait(fast)
  giveBack?.()
  slots.wake(() => undefined)
  t.deepEqual([slots.freeFor(fast), slots.freeFor(slow), slots.freeFor(openQueue(3))], [1, 0, 0])
  another?.()
  t.deepEqual([slots.freeFor(fast), slots.freeFor(slow), slots.freeFor(openQueue(3))], [2, 1, 1])
  slots.releaseKept(fast)
  t.is(slots.freeFor(slow), 2)
})

test('a queue without room is woken by the first answer that leaves it some, and not where its own attempt ends', (t) => {
  const slots = processSlots()
  const queue = openQueue(1)
  queue.limit = { requests: 1, isSlow: false }
  const giveBack = slots.take(queue)
  queue.inFlight.set(deliveryId(1), Promise.resolve())
  const woken: Array<WebhookQueue> = []
  const wake = (): void => slots.wake((one) => woken.push(one))
  slots.wait(queue)
  wake()
  t.deepEqual(woken, [])
  queue.answered.add(deliveryId(1))
  wake()
  wake()
  t.deepEqual(woken, [queue])
  queue.answered.clear()
  slots.wait(queue)
  // Its end schedules it in any case.
  giveBack()
  queue.inFlight.clear()
  wake()
  t.deepEqual(woken, [queue])
  t.is(slots.freeFor(queue), 1)
})
