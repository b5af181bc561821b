import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { account } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { conversion } from '../../domain/conversion.js'
import { conversionRecord } from '../../domain/conversion-record.js'
import { fold, type Decider } from '../../domain/decider.js'
import { delivery, type DeliveryCommand } from '../../domain/delivery.js'
import { decode } from '../../domain/codec.js'
import { codecOf, type DomainEvent } from '../../domain/events.js'
import { engagement } from '../../domain/engagement.js'
import { erasure } from '../../domain/erasure.js'
import { lead } from '../../domain/lead.js'
import { message } from '../../domain/message.js'
import { notice } from '../../domain/notice.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { parkedEvent } from '../../domain/parked-event.js'
import { playbook } from '../../domain/playbook.js'
import { E } from '../../domain/prelude.js'
import { remark } from '../../domain/remark.js'
import { resend } from '../../domain/resend.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { mostAttempts } from '../../domain/retry-schedule.js'
import { decodeStoredEvent, schemaVersion } from '../../domain/stored-event.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import { submissionKey } from '../../domain/submission-key.js'
import { webhook } from '../../domain/webhook.js'
import {
  accountCommands,
  contactCommands,
  conversionCommands,
  deliveryCommands,
  engagementCommands,
  erasureCommands,
  leadCommands,
  messageCommands,
  noticeCommands,
  parkedEventCommands,
  playbookCommands,
  recordCommands,
  remarkCommands,
  resendCommands,
  sendingHoldCommands,
  sourceCommands,
  senderOptOutCommands,
  submissionKeyCommands,
  webhookCommands,
} from '../kit/domain/commands.js'
import { holds } from '../kit/domain/property.js'
import { at, deliveryFacts } from '../kit/domain/samples.js'
import { unknownFields } from '../kit/domain/unknown-fields.js'

type AnyCommand = { readonly type: string }

/** The events that a sequence of commands appends to one stream: a refused command appends none. */
const eventsOf = <State, Command extends AnyCommand, Event, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  commands: ReadonlyArray<Command>,
): ReadonlyArray<Event> => {
  const events: Array<Event> = []
  let state = decider.initial
  for (const command of commands) {
    const decided = decider.decide(command, state)
    if (E.isLeft(decided)) continue
    events.push(...decided.right)
    state = fold(decider, state, decided.right)
  }
  return events
}

/** The laws of `Decider`; a command that is not `repeatable` may append again each time. */
const obeysTheLaws = <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  arbitrary: fc.Arbitrary<Command>,
  isRepeatable: (type: Command['type']) => boolean = () => true,
): void => {
  // fast-check makes objects without a prototype too; a clone has one, as every command does.
  const commands = arbitrary.map((command) => structuredClone(command))
  const histories = fc.array(commands, { maxLength: 25 }).map((sequence) => eventsOf(decider, sequence))
  const law = <Values>(title: string, property: fc.IProperty<Values>): void => {
    test(`${decider.category}: ${title}`, (t) => {
      holds(t, property, { numRuns: 200 })
    })
  }

  law(
    'decide answers every command in every state, and changes nothing',
    fc.property(histories, commands, (events, command) => {
      const state = fold(decider, decider.initial, events)
      const before = structuredClone({ command, state })
      const decided = decider.decide(command, state)
      assert.ok(E.isLeft(decided) || E.isRight(decided))
      assert.deepEqual({ command, state }, before)
    }),
  )

  law(
    'evolve takes every event in every state, the initial one too, and changes neither',
    fc.property(histories, histories, (events, others) => {
      for (const event of others) {
        for (const state of [decider.initial, fold(decider, decider.initial, events)]) {
          const before = structuredClone({ state, event })
          assert.notEqual(decider.evolve(state, event), undefined)
          assert.deepEqual({ state, event }, before)
        }
      }
    }),
  )

  law(
    'a history folds to the same state wherever it is split',
    fc.property(histories, fc.nat(25), (events, at) => {
      const state = fold(decider, fold(decider, decider.initial, events.slice(0, at)), events.slice(at))
      assert.deepEqual(state, fold(decider, decider.initial, events))
    }),
  )

  law(
    'a command decided again right after its own events is already so or refused',
    fc.property(histories, commands, (events, command) => {
      if (!isRepeatable(command.type)) return
      const state = fold(decider, decider.initial, events)
      const first = decider.decide(command, state)
      if (E.isLeft(first)) return
      const second = decider.decide(command, fold(decider, state, first.right))
      assert.ok(E.isLeft(second) || second.right.length === 0)
    }),
  )

  law(
    'whatever is decided can be stored and read again',
    fc.property(histories, (events) => {
      for (const event of events) {
        const stored = JSON.parse(JSON.stringify(event)) as DomainEvent
        assert.deepEqual(decodeStoredEvent(event.type, schemaVersion, stored.data), E.right(stored))
        const codec = codecOf(event.type)
        // What is stored is only checked where it is read: no codec may change what it decodes.
        assert.deepEqual(codec && decode(codec, stored), E.right(stored))
        assert.deepEqual(codec && unknownFields(codec, stored), [])
      }
    }),
  )

  const { snapshot } = decider
  if (snapshot === undefined) return
  law(
    'from its snapshot, stored and read again, a history folds on to the same state',
    fc.property(histories, fc.nat(25), (events, at) => {
      const state = fold(decider, decider.initial, events.slice(0, at))
      const stored: unknown = JSON.parse(JSON.stringify(snapshot.codec.encode(state)))
      const read = decode(snapshot.codec, stored)
      if (E.isLeft(read)) return assert.fail('it can not be read')
      assert.deepEqual(fold(decider, read.right, events.slice(at)), fold(decider, decider.initial, events))
    }),
  )
}

obeysTheLaws(account, accountCommands)
obeysTheLaws(playbook, playbookCommands)
obeysTheLaws(marketingSource, sourceCommands)
obeysTheLaws(conversion, conversionCommands)
obeysTheLaws(conversionRecord, recordCommands)
obeysTheLaws(lead, leadCommands)
obeysTheLaws(submissionKey, submissionKeyCommands)
obeysTheLaws(contact, contactCommands)
obeysTheLaws(engagement, engagementCommands, (type) => type !== 'RecordActivity')
obeysTheLaws(remark, remarkCommands, (type) => type !== 'MakeRemark')
// An attempt of which nobody recorded the end is followed by another.
obeysTheLaws(message, messageCommands, (type) => type !== 'BeginMessage')
obeysTheLaws(notice, noticeCommands)
// Late things are told of an erasure that was requested: without one each is news.
obeysTheLaws(erasure, erasureCommands, (type) => type !== 'AddLateLead' && type !== 'AddLateMessage')
obeysTheLaws(webhook, webhookCommands, (type) => type !== 'ChangeWebhook')
obeysTheLaws(delivery, deliveryCommands)
obeysTheLaws(resend, resendCommands)
obeysTheLaws(sendingHold, sendingHoldCommands)
obeysTheLaws(senderOptOut, senderOptOutCommands)
// Nobody may have answered a retry, so that it may be asked for once more.
obeysTheLaws(parkedEvent, parkedEventCommands, (type) => type !== 'RequestRetry')

const sequence = <Command>(commands: fc.Arbitrary<Command>) => fc.array(commands, { maxLength: 40 })

test('a contact takes each lead once, at times of their own', (t) => {
  holds(
    t,
    fc.property(sequence(contactCommands), (commands) => {
      const engaged = eventsOf(contact, commands).flatMap((event) =>
        event.type === 'ContactEngaged' ? [event.data] : [],
      )
      const submitted = commands.flatMap((command) => (command.type === 'EngageLead' ? [command.leadId] : []))
      assert.deepEqual(
        engaged.map((one) => one.lead_id),
        [...new Set(submitted)],
      )
      const times = engaged.map((one) => one.engaged_at)
      assert.deepEqual(times, [...new Set(times)].toSorted())
    }),
  )
})

test('in whatever order leads arrive, a contact ends up with the values of the newest', (t) => {
  holds(
    t,
    fc.property(sequence(contactCommands), (commands) => {
      const state = fold(contact, contact.initial, eventsOf(contact, commands))
      const newest = commands
        .flatMap((command) => (command.type === 'EngageLead' ? [command] : []))
        .toSorted((one, other) => (one.submittedAt + one.leadId < other.submittedAt + other.leadId ? -1 : 1))
        .at(-1)
      const details = state.kind === 'known' ? state.details : undefined
      assert.equal(details?.first_name, newest?.details.first_name)
      assert.deepEqual(
        { ...details?.additional_info, ...newest?.details.additional_info },
        {
          ...details?.additional_info,
        },
      )
    }),
  )
})

test('the activities of a conversation have times of their own, and it ends once', (t) => {
  holds(
    t,
    fc.property(sequence(engagementCommands), (commands) => {
      const events = eventsOf(engagement, commands)
      const activities = events.flatMap((event) => (event.type === 'ActivityRecorded' ? [event.data] : []))
      const times = activities.map(({ activity }) => activity.at)
      assert.deepEqual(times, [...new Set(times)].toSorted())
      const records = activities.flatMap(({ record_id }) => (record_id === null ? [] : [record_id]))
      assert.equal(new Set(records).size, records.length)
      assert.ok(events.filter((event) => event.type === 'EngagementEnded').length <= 1)
      // Whoever says STOP is heard again after the end, and nothing else is.
      const outcomes = activities.filter(({ activity }) => activity.type === 'outcome')
      assert.ok(outcomes.slice(1).every(({ activity }) => activity.label === 'opted_out'))
    }),
  )
})

test('a delivery is attempted as often as its schedule says at most, one after the other, and nothing follows its end', (t) => {
  const attempt = (n: number, delivered: boolean): DeliveryCommand => ({
    type: 'RecordAttempt',
    delivered,
    outcome: { attempt: n, status: delivered ? 200 : 500, reason: 'a reason', duration_ms: 1 },
    nextAttemptAt: at(n),
  })
  const make: DeliveryCommand = { type: 'MakeDue', facts: deliveryFacts(), heldAt: undefined }
  const endings = fc.record({ successAt: fc.integer({ min: 1, max: 40 }), repeats: fc.integer({ min: 1, max: 3 }) })
  holds(
    t,
    fc.property(endings, ({ successAt, repeats }) => {
      const attempts = Array.from({ length: 25 * repeats }, (_, index) => Math.floor(index / repeats) + 1)
      const events = eventsOf(delivery, [make, ...attempts.map((n) => attempt(n, n === successAt))])
      const last = Math.min(successAt, mostAttempts)
      assert.equal(events.length, 1 + last)
      assert.deepEqual(
        events.slice(1, -1).map((event) => event.type === 'DeliveryAttemptFailed' && event.data.outcome.attempt),
        Array.from({ length: last - 1 }, (_, index) => index + 1),
      )
      assert.equal(events.at(-1)?.type, successAt <= mostAttempts ? 'DeliverySucceeded' : 'DeliveryAbandoned')
    }),
  )
})
