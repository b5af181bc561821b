import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { foldStream } from '../../domain/aggregate.js'
import type { Decider } from '../../domain/decider.js'
import { delivery, type DeliveryCommand } from '../../domain/delivery.js'
import type { DomainEvent, RecordedEvent } from '../../domain/events.js'
import { E } from '../../domain/prelude.js'
import { reactions } from '../../domain/reactions.js'
import { deliveryRetries, mostAttempts } from '../../domain/retry-schedule.js'
import { webhook } from '../../domain/webhook.js'
import { holds } from '../kit/domain/property.js'
import { accountId, at, deliveryFacts, deliveryId, uuid, webhookId, webhookSettings } from '../kit/domain/samples.js'

const numbers = [1, 2] as const

/** What happens to the deliveries of one webhook; `times` in a row. A late record goes by the version of long ago. */
type Step =
  | { readonly does: 'fail' | 'fail late' | 'succeed' | 'resend and fail'; readonly n: number; readonly times: number }
  | { readonly does: 'hold' | 'catch up'; readonly n: number }
  | { readonly does: 'turn on' | 'change' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: some('fail', mostAttempts) },
  { weight: 3, arbitrary: some('fail late', mostAttempts) },
  some('succeed', 1),
  { weight: 2, arbitrary: some('resend and fail', 30) },
  fc.record({ does: fc.constant('hold' as const), n: fc.constantFrom(...numbers) }),
  { weight: 3, arbitrary: fc.record({ does: fc.constant('catch up' as const), n: fc.constantFrom(...numbers) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('turn on' as const) }) },
  fc.record({ does: fc.constant('change' as const) }),
)

function some<Does extends 'fail' | 'fail late' | 'succeed' | 'resend and fail'>(does: Does, most: number) {
  return fc.record({
    does: fc.constant(does),
    n: fc.constantFrom(...numbers),
    times: fc.constantFrom(1, most - 1, most).filter((times) => times > 0),
  })
}

/** The streams of one webhook and its deliveries, and what follows from each event, by the deciders themselves. */
const service = () => {
  const streams = new Map<string, Array<DomainEvent>>()
  const turnedOff: Array<string> = []

  const stateOf = <State, Command extends { readonly type: string }, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
  ): State => foldStream(decider, streams.get(id) ?? [])

  const execute = <State, Command extends { readonly type: string }, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: NoInfer<Command>,
  ): void => {
    const decided = decider.decide(command, stateOf(decider, id))
    if (E.isLeft(decided)) return
    for (const event of decided.right) {
      streams.set(id, [...(streams.get(id) ?? []), event])
      if (event.type === 'WebhookTurnedOff') turnedOff.push(event.data.delivery_id)
      for (const intent of reactions({ ...event, time: at(), id: uuid() } as unknown as RecordedEvent)) {
        const { decider: other, id: of, command: follows } = intent
        execute(other as unknown as Decider<unknown, typeof follows, DomainEvent, unknown>, of, follows)
      }
    }
  }
  return { execute, stateOf, turnedOff }
}

/**
 * The rule in its own words: all attempts failed in a row since the schedule began, the last of them since it was
 * turned on.
 */
const model = () => {
  const failures = new Map(numbers.map((n): [number, number | 'over'] => [n, 0]))
  const turnedOff: Array<string> = []
  let isOn = true
  return {
    turnedOff,
    isOn: () => isOn,
    fail: (n: number, isLate: boolean) => {
      const before = failures.get(n) ?? 0
      if (before === 'over') return
      failures.set(n, before === deliveryRetries ? 'over' : before + 1)
      if (before < deliveryRetries || !isOn || isLate) return
      isOn = false
      turnedOff.push(deliveryId(n))
    },
    end: (n: number) => failures.set(n, 'over'),
    begin: (n: number) => failures.set(n, 0),
    turnOn: () => {
      isOn = true
    },
  }
}

test('a webhook is turned off by the last failure that a delivery may have, once, and by nothing else', (t) => {
  const seen = { turnedOff: 0, late: 0 }
  holds(
    t,
    fc.property(fc.array(steps, { maxLength: 40 }), (taken) => {
      const { execute, stateOf, turnedOff } = service()
      const expected = model()
      const settings = webhookSettings()
      execute(webhook, webhookId(), { type: 'AddWebhook', webhookId: webhookId(), accountId: accountId(), settings })
      for (const n of numbers) {
        const facts = deliveryFacts({ delivery_id: deliveryId(n) })
        execute(delivery, deliveryId(n), { type: 'MakeDue', facts, heldAt: undefined })
      }
      const known = (n: number) => {
        const state = stateOf(delivery, deliveryId(n))
        if (state.kind === 'unknown' || state.kind === 'erased') throw new Error('it was made due')
        return state
      }
      const receiver = () => {
        const state = stateOf(webhook, webhookId())
        if (state.kind !== 'on' && state.kind !== 'off') throw new Error('it was added')
        return state
      }
      const isAsExpected = (): void => {
        assert.equal(receiver().kind, expected.isOn() ? 'on' : 'off')
        assert.deepEqual(turnedOff, expected.turnedOff)
      }
      const attempt = (
        type: 'RecordAttempt' | 'RecordResend',
        n: number,
        isLate: boolean,
        isDelivered: boolean,
      ): void => {
        const outcome = {
          attempt: known(n).attempts + 1,
          status: isDelivered ? 200 : 500,
          reason: 'a reason',
          duration_ms: 1,
          webhook_version: isLate ? 1 : receiver().version,
        }
        const both = { delivered: isDelivered, outcome }
        const command: DeliveryCommand =
          type === 'RecordAttempt' ? { type, ...both, nextAttemptAt: at() } : { type, ...both }
        execute(delivery, deliveryId(n), command)
      }
      let wasTurnedOn = false
      for (const step of taken) {
        switch (step.does) {
          case 'fail':
          case 'fail late':
            for (let times = 0; times < step.times; times += 1) {
              const isLate = step.does === 'fail late' && wasTurnedOn
              attempt('RecordAttempt', step.n, step.does === 'fail late', false)
              expected.fail(step.n, isLate)
              if (isLate && expected.isOn()) seen.late += 1
              isAsExpected()
            }
            break
          case 'succeed':
            attempt('RecordAttempt', step.n, false, true)
            expected.end(step.n)
            break
          case 'resend and fail':
            for (let times = 0; times < step.times; times += 1) {
              execute(delivery, deliveryId(step.n), { type: 'RequestResend', resendId: null, dueAt: at() })
              attempt('RecordResend', step.n, false, false)
            }
            break
          case 'hold':
            execute(delivery, deliveryId(step.n), { type: 'HoldDelivery', webhookVersion: receiver().version })
            break
          case 'catch up': {
            const { kind } = known(step.n)
            execute(delivery, deliveryId(step.n), { type: 'ResumeDelivery', dueAt: at() })
            if (kind === 'held' || kind === 'failed') expected.begin(step.n)
            break
          }
          case 'turn on':
            if (!expected.isOn()) wasTurnedOn = true
            execute(webhook, webhookId(), {
              type: 'TurnOnWebhook',
              accountId: accountId(),
              catchUp: true,
              by: 'somebody',
            })
            expected.turnOn()
            break
          case 'change':
            execute(webhook, webhookId(), {
              type: 'ChangeWebhook',
              accountId: accountId(),
              settings: { url: `https://receiver.example/${receiver().version}` },
            })
            break
        }
        isAsExpected()
      }
      seen.turnedOff += turnedOff.length
    }),
    { numRuns: 500 },
  )
  t.log(seen)
  t.true(seen.turnedOff > 100 && seen.late > 100)
})
