import test, { type ExecutionContext } from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { clientCommands } from '../../../app/commands/client-commands.js'
import type { ServedReadModel } from '../../../app/commands/read-your-writes/read-your-writes.js'
import { waitingCommands } from '../../../app/commands/read-your-writes/waiting-commands.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { account } from '../../../domain/account.js'
import { conversion } from '../../../domain/conversion.js'
import { delivery } from '../../../domain/delivery.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Position, Revision } from '../../../domain/event.js'
import { lead } from '../../../domain/lead.js'
import type { EventStore, NewEvent } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { webhook } from '../../../domain/webhook.js'
import type { AnyProjection } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { until } from '../../kit/time/until.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { openSqlite } from '../../kit/stores/sqlite.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  details,
  engagementId,
  leadFacts,
  leadId,
  playbookId,
  webhookId,
  webhookSettings,
  openAccountCommand,
} from '../../kit/domain/samples.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { isOver, settled } from '../../kit/time/turns.js'
import { manualTime } from '../../kit/time/manual-time.js'

type Asked = { readonly name: string; readonly position: Position; readonly signal: AbortSignal }

const submission = (n: number) => {
  const ofItsOwn = { lead_id: leadId(n), engagement_id: engagementId(n), details: details({ first_name: `Ada ${n}` }) }
  return { type: 'SubmitLead', facts: leadFacts(ofItsOwn) } as const
}

/** The commands of a process whose read models come as far as they are let. */
const open = async (t: ExecutionContext) => {
  const time = manualTime()
  const stopping = new AbortController()
  const { port: store, close } = await openSqlite(sqliteEventStore)
  t.teardown(close)
  const clock = systemClock(1)
  const ids = randomIds(clock)
  const process = () => {
    const commandHandler = sharedHandler(store, clock)
    return { commandHandler, reactor: reactor({ commandHandler, logger: recordingLogger() }) }
  }
  const here = process()
  const elsewhere = process()
  let put = 0
  const asked: Array<Asked> = []
  const followedTo: Array<Position> = []
  const held = new Map<string, Array<() => void>>()
  const waitFor = (name: string): Promise<void> => {
    const waiting = held.get(name)
    return waiting === undefined ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))
  }
  const served = (projection: AnyProjection): ServedReadModel => ({
    projection,
    follower: {
      caughtUpTo: (position, signal) => {
        asked.push({ name: projection.name, position, signal })
        return waitFor(projection.name)
      },
    },
  })
  const { untilAnswerable } = waitingCommands({
    readModels: readModels.map(served),
    followed: (position) => {
      followedTo.push(position)
      return waitFor('the log')
    },
    documents: memoryDocuments(documentState()),
    monotonic: time.process(),
    stopping: stopping.signal,
  })
  let eventsRead = 0
  const readLast: EventStore['readLast'] = async (stream, count) => {
    const read = await store.readLast(stream, count)
    eventsRead += E.isRight(read) ? read.right.length : 0
    return read
  }
  const { execute } = clientCommands({ store: { readLast }, ...here, ids, unitOfWork: undefined, untilAnswerable })
  return {
    store,
    asked,
    /** Events that were read to find out what made a command unnecessary. */
    eventsRead: () => eventsRead,
    followedTo,
    time,
    stop: (): void => stopping.abort(),
    /** Whether `running` is over once it has asked for all that it waits for. */
    isOver: async (running: Promise<unknown>): Promise<boolean> => {
      await until('it was asked for', 60_000, () => followedTo.length > 0)
      return isOver(running)
    },
    /** A read model, or the log, that does not move until the function that it gives is called. */
    hold: (name: string): (() => void) => {
      const waiting: Array<() => void> = []
      held.set(name, waiting)
      return () => {
        held.delete(name)
        for (const go of waiting) go()
      }
    },
    define: (n = 1) => {
      const facts = { accountId: accountId(), title: 'Renewed', value: 1, label: 'custom_conversion' } as const
      const command = { type: 'DefineConversion', conversionId: conversionId(n), ...facts } as const
      return execute(conversion, conversionId(n), command, 'test')
    },
    /** A webhook that nobody added. */
    change: () =>
      execute(webhook, webhookId(), { type: 'ChangeWebhook', accountId: accountId(), settings: {} }, 'test'),
    disable: () => execute(account, accountId(), { type: 'DisableAccount' }, 'test'),
    openAccount: () => execute(account, accountId(), openAccountCommand, 'test'),
    /** As it was written before. */
    put: async (stream: string, ...events: ReadonlyArray<DomainEvent>): Promise<void> => {
      let revision: Revision = 'no-stream'
      for (const event of events) {
        put += 1
        revision = rightOf(await store.append(stream, revision, [newEvent(put, event)])).revision
      }
    },
    askForResend: () => execute(delivery, deliveryId(), { type: 'RequestResend', resendId: null, dueAt: at() }, 'test'),
    takeLead: (n: number) => execute(lead, leadId(n), submission(n), 'vendor'),
    /** By another process, which carries on at once what follows. */
    takeLeadElsewhere: async (n: number): Promise<void> => {
      const envelope = { actor: 'vendor', eventId: ids.uuid }
      const { events } = rightOf(await elsewhere.commandHandler.execute(lead, leadId(n), submission(n), envelope))
      await elsewhere.reactor.react(events)
    },
  }
}

const namesOf = (asked: ReadonlyArray<Asked>): ReadonlyArray<string> => asked.map(({ name }) => name).toSorted()

test('a command waits for the read models that its events concern, and for no other', async (t) => {
  const { asked, hold, define, isOver } = await open(t)
  for (const { name } of readModels) if (name !== 'conversion_list') hold(name)
  const go = hold('conversion_list')
  const defining = define()
  t.false(await isOver(defining))
  t.deepEqual(namesOf(asked), ['conversion_list'])
  go()
  const { events } = rightOf(await defining)
  t.is(asked[0]?.position, events.at(-1)?.position)
})

test('what follows from a command is waited for too', async (t) => {
  const { store, asked, followedTo, openAccount } = await open(t)
  rightOf(await openAccount())
  t.deepEqual(namesOf(asked), ['conversion_list', 'playbook_list'])
  const conversions = rightOf(await store.read(`conversion-${conversionId(2)}`)).events
  const playbooks = rightOf(await store.read(`playbook-${playbookId()}`)).events
  t.is(asked.find(({ name }) => name === 'conversion_list')?.position, conversions.at(-1)?.position)
  t.is(asked.find(({ name }) => name === 'playbook_list')?.position, playbooks.at(-1)?.position)
  t.deepEqual(followedTo, [rightOf(await store.head())])
})

test('a command waits until this process has followed the log so far, as the others have by then', async (t) => {
  const { followedTo, hold, define, isOver } = await open(t)
  const go = hold('the log')
  const defining = define()
  t.false(await isOver(defining))
  go()
  const { events } = rightOf(await defining)
  t.deepEqual(followedTo, [events.at(-1)?.position])
})

test('a refusal waits for nothing', async (t) => {
  const { asked, followedTo, hold, change } = await open(t)
  for (const name of ['webhook_list', 'the log']) hold(name)
  t.deepEqual(await change(), E.left({ kind: 'webhook-not-found' }))
  t.deepEqual([asked, followedTo], [[], []])
})

test('what was so already, and what follows from it, is waited for too', async (t) => {
  const { asked, followedTo, hold, openAccount, isOver } = await open(t)
  rightOf(await openAccount())
  asked.length = 0
  followedTo.length = 0
  const go = hold('playbook_list')
  const again = openAccount()
  t.false(await isOver(again))
  t.true(namesOf(asked).includes('playbook_list'))
  go()
  t.deepEqual(rightOf(await again).events, [])
})

test('what was so already costs no more where much happened before', async (t) => {
  const { store, openAccount, disable, eventsRead } = await open(t)
  rightOf(await openAccount())
  const stream = `account-${accountId()}`
  const { revision } = rightOf(await store.read(stream))
  const changes = Array.from({ length: 301 }, (_, n) =>
    newEvent(1_000 + n, { type: n % 2 === 0 ? 'AccountDisabled' : 'AccountEnabled', data: {} }),
  )
  rightOf(await store.append(stream, revision, changes as [NewEvent, ...Array<NewEvent>]))
  t.deepEqual(rightOf(await disable()).events, [])
  t.is(eventsRead(), 20)
})

test('what was so already brings nothing about a second time', async (t) => {
  const { store, asked, put, askForResend } = await open(t)
  const outcome = { attempt: 19, status: 500, reason: 'status 500', duration_ms: 1 }
  const webhookIds = { webhook_id: webhookId(), account_id: accountId() }
  await put(
    `webhook-${webhookId()}`,
    { type: 'WebhookAdded', data: { ...webhookIds, settings: webhookSettings() } },
    { type: 'WebhookTurnedOff', data: { delivery_id: deliveryId(), reason: outcome.reason } },
    { type: 'WebhookTurnedOn', data: { catch_up: false, by: 'operator' } },
  )
  const deliveryIds = { delivery_id: deliveryId(), webhook_id: webhookId() }
  await put(
    `delivery-${deliveryId()}`,
    { type: 'DeliveryDue', data: deliveryFacts() },
    { type: 'DeliveryAbandoned', data: { ...deliveryIds, why: 'retries-exhausted', outcome } },
  )
  rightOf(await askForResend())
  t.deepEqual(rightOf(await askForResend()).events, [])
  t.true(namesOf(asked).includes('deliveries'))
  t.is(rightOf(await store.read(`webhook-${webhookId()}`)).events.length, 3)
})

test('what another process wrote first because of the same event is waited for too', async (t) => {
  const { store, asked, takeLeadElsewhere, takeLead } = await open(t)
  await takeLeadElsewhere(1)
  await takeLeadElsewhere(2)
  rightOf(await takeLead(2))
  const changed = rightOf(await store.read(`contact-${contactId()}`)).events.find(
    ({ type }) => type === 'ContactDetailsChanged',
  )
  t.truthy(changed)
  t.is(asked.find(({ name }) => name === 'contacts')?.position, changed?.position)
})

/** The same once a command has waited for a read model that is late. */
const openLate = async (t: ExecutionContext) => {
  const opened = await open(t)
  const { time, hold, define, isOver } = opened
  hold('conversion_list')
  const first = define(1)
  t.false(await isOver(first))
  await time.advance(3_000)
  rightOf(await first)
  return opened
}

test('a command waits for three seconds at most, and none waits again for a read model that is late until it has caught up', async (t) => {
  const { asked, time, hold, define, isOver } = await open(t)
  const go = hold('conversion_list')
  const first = define(1)
  t.false(await isOver(first))
  await time.advance(2_999)
  t.false(await isOver(first))
  await time.advance(1)
  rightOf(await first)
  const [ofFirst, whenLate] = asked
  t.true(ofFirst?.signal.aborted, 'the request goes on waiting')
  t.false(whenLate?.signal.aborted)

  rightOf(await define(2))
  t.is(asked.length, 2, 'it was waited for though it is late')
  go()
  await settled()
  hold('conversion_list')
  const next = define(3)
  await until('it was asked for again', 60_000, () => asked.length === 3)
  t.false(await isOver(next))
  await time.advance(3_000)
  rightOf(await next)
})

test('while one read model is late, the others are waited for as before', async (t) => {
  const { asked, time, hold, openAccount, isOver } = await openLate(t)
  asked.length = 0
  hold('playbook_list')
  const next = openAccount()
  await until('it was asked for', 60_000, () => asked.length > 0)
  t.false(await isOver(next))
  t.deepEqual(namesOf(asked), ['playbook_list'])
  await time.advance(3_000)
  rightOf(await next)
})

test('once the service stops nobody waits for what is late', async (t) => {
  const { asked, stop } = await openLate(t)
  stop()
  t.true(asked.every(({ signal }) => signal.aborted))
})

test('a wait that ends well is over for all who were asked', async (t) => {
  const { asked, define } = await open(t)
  rightOf(await define(1))
  rightOf(await define(2))
  t.is(asked.length, 2)
  t.true(asked.every(({ signal }) => signal.aborted))
})
