import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { randomIds } from '../../../adapters/node/ids.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { neverAborted } from '../../../domain/abortable.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { bytesOf, largestDetails } from '../../../domain/contact-details.js'
import { contact } from '../../../domain/contact.js'
import { conversionRecord } from '../../../domain/conversion-record.js'
import { recordFrom } from '../../../domain/conversion-report.js'
import type { Decider } from '../../../domain/decider.js'
import type { AccountSecret } from '../../../domain/derived-id.js'
import { engagement } from '../../../domain/engagement.js'
import { beginning } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import { lead } from '../../../domain/lead.js'
import { largestAppend } from '../../../domain/append-limit.js'
import type { AnyCommand, EventStore } from '../../../domain/ports.js'
import { erasure, mostNamed } from '../../../domain/erasure.js'
import { E } from '../../../domain/prelude.js'
import { remark } from '../../../domain/remark.js'
import { decodeSubmission, leadFactsOf } from '../../../domain/submission.js'
import { deliveryFanOut } from '../../../projections/delivery/fan-out/fan-out.js'
import { checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { accountWithWebhook } from '../../kit/parts/account-with-webhook.js'
import { holdsAsync } from '../../kit/domain/property.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  deliveryId,
  erasureId,
  playbookId,
  sourceId,
  webhookId,
} from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

/** What takes most when it is encoded: once, and once more inside a body. */
const units = ['\u0001', '"', '\\', '\ud800', '\u20ac', '\u{1f600}', '\n', 'x']

const longOf = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)))

type Step =
  | {
      readonly does: 'submit'
      readonly whom: number
      readonly unit: string
      readonly fields: number
      readonly key: string
    }
  | { readonly does: 'report'; readonly unit: string; readonly noteBytes: number; readonly optsOut: boolean }
  | { readonly does: 'convert'; readonly whom: number; readonly which: number }

const unit = fc.constantFrom(...units)
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constant('submit' as const),
    whom: fc.constantFrom(0, 0, 0, 1),
    unit,
    fields: fc.constantFrom(8, 9, 40, 490),
    key: unit,
  }),
  fc.record({
    does: fc.constant('report' as const),
    unit,
    noteBytes: fc.constantFrom(0, 1_000, 5_000, 10_000, 40_000),
    optsOut: fc.boolean(),
  }),
  fc.record({ does: fc.constant('convert' as const), whom: fc.nat(1), which: fc.nat(3) }),
)

/** A lead with as many bytes as a lead may have, under names that no lead had before. */
const submissionOf = (n: number, { whom, unit: text, fields, key }: Extract<Step, { readonly does: 'submit' }>) => {
  const few = { phone: `415555010${whom}`, tcpa_opt_in_token: 'c', tcpa_opt_in_url: 'https://c.example' }
  const sent: Record<string, string> = { ...few, external_id: `${n} ${longOf(key, 9_900).slice(0, 9_900)}` }
  const left = largestDetails.bytes - bytesOf(sent)
  for (let field = 0; field < fields; field += 1) {
    const name = `field ${n} ${field}`
    sent[name] = `x${longOf(text, Math.floor(left / fields) - name.length - 1)}`.slice(0, 10_000)
  }
  return sent
}

/**
 * A service with a source, conversions and webhooks of the longest titles, on a store that says how large each append
 * was.
 */
const open = async () => {
  const stored = memoryEventStore(memoryLog())
  const clock = manualClock()
  const sizes: Array<number> = []
  const store: EventStore = {
    ...stored,
    append: (stream, expected, events) => {
      sizes.push(Buffer.byteLength(JSON.stringify(events)))
      return stored.append(stream, expected, events)
    },
  }
  const commandHandler = cachedHandler(store, clock)
  const ids = randomIds(clock)
  const envelope = { actor: 'test', eventId: ids.uuid }
  await accountWithWebhook(commandHandler, envelope)
  const { react } = reactor({ commandHandler, logger: recordingLogger() })
  const documents = memoryDocuments(documentState())
  const checkpoint = checkpointIn(documents, 'delivery_projector', 1n)
  const fanOut = deliveryFanOut({
    store,
    documents,
    commandHandler,
    hasErasures: () => Promise.resolve(false),
    checkpoint,
    logger: recordingLogger(),
  })
  let position = await fanOut.begin(neverAborted)
  const execute = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: NoInfer<Command>,
  ): Promise<void> => {
    const done = await commandHandler.execute(decider, id, command, envelope, newAggregate(decider))
    if (E.isRight(done)) await react(done.right.events)
    else assert.notEqual((done.left as { readonly kind: string }).kind, 'corrupt')
  }
  const title = '\u0001'.repeat(1_000)
  const source = {
    kind: 'created',
    sourceId: sourceId(),
    accountId: accountId(),
    title,
    playbookId: playbookId(),
    originatorField: null,
    suspended: false,
    limitPerMinute: null,
  } as const
  const acceptor = { source, secret: Buffer.from('secret') as AccountSecret }
  const conversion = { kind: 'defined', accountId: accountId(), title, value: 1, label: 'custom_conversion' } as const
  const contacts = new Map<number, ReturnType<typeof leadFactsOf>>()

  const submit = async (n: number, step: Extract<Step, { readonly does: 'submit' }>): Promise<void> => {
    const submission = decodeSubmission([], clock.now(), submissionOf(n, step))
    if (E.isLeft(submission) || bytesOf(submission.right.fields) > largestDetails.bytes) return
    const facts = leadFactsOf(acceptor, submission.right, `led_${ids.ulid()}`, `neg_${ids.ulid()}`)
    contacts.set(step.whom, facts)
    await execute(lead, facts.lead_id, { type: 'SubmitLead', facts })
  }
  const take = async (n: number, step: Step): Promise<void> => {
    clock.set(at(n * 1000))
    const known = contacts.get('whom' in step ? step.whom : 0)
    if (step.does === 'submit') {
      await submit(n, step)
    } else if (known !== undefined && step.does === 'report') {
      const label = step.optsOut ? 'opted_out' : 'interested'
      const properties = { [step.unit]: longOf(step.unit, 5_000), numbers: Array.from({ length: 400 }, () => 1e20) }
      const said = { note: longOf(step.unit, step.noteBytes), properties }
      const { engagement_id: engagementId, account_id, contact_id: contactId } = known
      const making = { type: 'MakeRemark', engagementId, accountId: account_id, contactId, remark: said } as const
      await execute(remark, engagementId, making)
      const { made } = rightOf(await commandHandler.load(remark, engagementId)).state
      if (made === 0) return
      const command = {
        type: 'RecordActivity',
        accountId: account_id,
        label,
        at: clock.now(),
        remark: made - 1,
      } as const
      await execute(engagement, engagementId, command)
    } else if (known !== undefined && step.does === 'convert') {
      const { state } = rightOf(await commandHandler.load(contact, known.contact_id))
      if (state.kind !== 'known') return
      const of = {
        contact: { ...state, id: known.contact_id },
        conversion: { ...conversion, id: conversionId(step.which) },
      }
      const silent = { convertedAt: undefined, value: undefined, keepsEngagementsOpen: undefined }
      const facts = rightOf(recordFrom({ ...of, ...silent }, clock.now()))
      await execute(conversionRecord, facts.record_id, { type: 'RecordConversion', facts })
    }
    for await (const batch of store.history(position, fanOut.categories, neverAborted)) {
      await fanOut.handle(batch)
      position = batch.position
    }
  }
  const deliveriesDue = async (): Promise<number> => {
    let count = 0
    for await (const { events } of store.history(beginning, ['delivery'], neverAborted)) count += events.length
    return count
  }
  return { take, sizes, deliveriesDue }
}

test('no sequence of accepted leads, conversions and activity reports leads to an event that a store refuses', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 12 }), async (taken) => {
      const { take, sizes } = await open()
      for (const [n, step] of taken.entries()) await take(n, step)
      assert.ok(Math.max(...sizes) <= largestAppend)
    }),
    { numRuns: 40 },
  )
})

test('the largest lead, and the largest activity report on it, are accepted and delivered', async (t) => {
  const { take, sizes, deliveriesDue } = await open()
  const largest = { does: 'submit', whom: 0, unit: '\u0001', fields: 8, key: '\u0001' } as const
  for (const n of [1, 2, 3, 4]) await take(n, largest)
  await take(5, { does: 'report', unit: '"', noteBytes: 5_000, optsOut: false })
  t.is(await deliveriesDue(), 5)
  t.true(Math.max(...sizes) > 500_000, `${Math.max(...sizes)} bytes`)
})

test('a person who was told of to more webhooks than an account may have at a time, as they were removed, can be forgotten', async (t) => {
  const commandHandler = cachedHandler(memoryEventStore(memoryLog()), manualClock())
  const envelope = { actor: 'test', eventId: randomIds(manualClock()).uuid }
  const id = erasureId()
  const facts = { erasure_id: id, account_id: accountId(), contact_id: contactId(), by: 'x'.repeat(100) }
  rightOf(await commandHandler.execute(erasure, id, { type: 'RequestErasure', facts }, envelope))
  const told = 20_000
  const webhooks = Array.from({ length: told }, (_, n) => ({ webhook_id: webhookId(n), deliveries: 1_000_000 }))
  const dropped = Array.from({ length: mostNamed }, (_, n) => deliveryId(n))
  const summary = { webhooks, webhooks_count: told, dropped, dropped_count: 1_000_000 }
  const done = rightOf(await commandHandler.execute(erasure, id, { type: 'CompleteErasure', summary }, envelope))
  t.is(done.state.kind, 'completed')
})
