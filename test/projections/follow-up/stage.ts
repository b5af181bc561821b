import type { ExecutionContext } from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import type { AccountEvent, OpenAccount } from '../../../domain/account.js'
import { contact } from '../../../domain/contact.js'
import { stepMessageIdOf } from '../../../domain/derived-id.js'
import { engagement, type EngagementCommand } from '../../../domain/engagement.js'
import { beginning } from '../../../domain/event.js'
import type { AccountId, EngagementId, MessageId } from '../../../domain/ids.js'
import { later, millisecondsOf, type Instant } from '../../../domain/instant.js'
import { lead } from '../../../domain/lead.js'
import { message, type Purpose } from '../../../domain/message.js'
import type { Messenger, MessengerOutcome, Settled } from '../../../domain/messenger.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import { standardPlaybook } from '../../../domain/playbook-settings.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { reactions } from '../../../domain/reactions.js'
import { schemaVersion } from '../../../domain/stored-event.js'
import { sendingHold, type SendingHoldCommand } from '../../../domain/sending-hold.js'
import type { Consent, ConsentAnswer } from '../../../projections/follow-up/consent-verifier.js'
import { sendingRates } from '../../../projections/follow-up/sending/rate.js'
import { segmentReservations } from '../../../projections/follow-up/sending/segment-reservations.js'
import { sendRequested } from '../../../projections/follow-up/requested-messages.js'
import { runEngagementTask } from '../../../projections/follow-up/engagement-task.js'
import { followUpWorker } from '../../../projections/follow-up/worker.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { anyProjection, collectionOf } from '../../../projections/projection.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { messages } from '../../../projections/read-models/messages.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import { usageIn } from '../../../projections/read-models/messages.js'
import { applyBatch } from '../../../projections/subscriptions/runner.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { openAccountState } from '../../kit/domain/account-state.js'
import {
  accountId,
  at,
  attribution,
  contactId,
  details,
  engagementId,
  leadFacts,
  leadId,
  messageId,
  phone,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { readModelFollower } from '../../kit/parts/read-model-follower.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'

const accepted: MessengerOutcome = { kind: 'accepted', providerId: undefined }

const settingsWith = (template: string) => ({
  ...standardPlaybook,
  quiet_hours: null,
  steps: [{ message: template, delay_minutes: 0 }],
})

/** Numbers of leads whose contacts are followed up in one shard. */
export const neighbours = (count: number): ReadonlyArray<number> =>
  Array.from({ length: 2_000 }, (_, index) => index + 1)
    .filter((n) => contactShards.of(contactId(n)) === contactShards.of(contactId(1)))
    .slice(0, count)

type Plan = {
  readonly answer?: (consent: Consent, asked: number) => ConsentAnswer | Promise<ConsentAnswer>
  /** What the provider says to a message to this number; `lost`: it takes it, and its answer does not arrive. */
  readonly outcome?: (to: string) => MessengerOutcome | 'lost' | Promise<MessengerOutcome>
  readonly owner?: (id: AccountId) => Partial<OpenAccount>
  /** Whether all contacts opted out of the sender. */
  readonly isOptedOutOfSender?: boolean
  /** Of the only step. */
  readonly template?: string
  /** Called before a hold is looked up. @throws where that fails */
  readonly lookUpHold?: (account: AccountId) => void
  /** @throws where the provider can't be asked to erase a copy */
  readonly beforeErasingCopy?: () => void
  /** Whether a task is shown all that was recorded up to the moment when it looks for messages. */
  readonly isShownAtOnce?: boolean
  /** Streams that can't be decoded. */
  readonly unreadable?: (stream: string) => boolean
  readonly monotonic?: MonotonicClock
  /** What the provider says where it is asked for a message for the so many-th time; undefined: what it lists. */
  readonly settled?: (asked: number) => Settled | undefined
  /** Whether the provider lists already what it has taken. */
  readonly isListed?: () => boolean
  /** What the worker reads of the documents. */
  readonly workerReads?: (documents: Documents) => Documents
  /** Called before a read model of the worker is written: what it waits for is written later. */
  readonly beforeShowing?: (collection: Collection) => Promise<void>
}
/** A decider and a command that belong together. */
type Executed = {
  readonly decider: typeof engagement
  readonly id: string
  readonly command: EngagementCommand
}

/** Leads whose first messages are due, and may wait for their consent. */
export const openFollowUpStage = (
  t: ExecutionContext,
  {
    answer = () => ({ kind: 'verified' }),
    outcome = () => accepted,
    owner = () => ({}),
    isOptedOutOfSender = false,
    template = 'Hi {{first_name}}',
    lookUpHold,
    beforeErasingCopy = () => undefined,
    isShownAtOnce = false,
    unreadable = () => false,
    monotonic = turnTime,
    settled = () => undefined,
    isListed = () => true,
    workerReads = (given) => given,
    beforeShowing = () => Promise.resolve(),
  }: Plan = {},
) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const clock = manualClock()
  const ids = randomIds(clock)
  const logger = recordingLogger()
  const documents = memoryDocuments(documentState())
  const tried = failingWork(monotonic)
  const rates = sendingRates(() => 1)
  const consentsUnderCheck = new Set<EngagementId>()
  const asked: Array<Consent> = []
  const sent: Array<string> = []
  const erasedCopies: Array<string> = []
  const known: Array<string> = []
  const taken = new Set<MessageId>()
  let settles = 0
  const { execute } = sharedHandler(store, clock)
  const envelope = { actor: 'test', eventId: ids.uuid }
  const undecodable = E.left({ kind: 'corrupt', reason: 'an event can not be decoded' } as const)
  /** Decides on streams, of which some can't be decoded. */
  const decoding = (opened: EventStore): EventStore => ({
    ...opened,
    read: (stream, ...range) => (unreadable(stream) ? Promise.resolve(undecodable) : opened.read(stream, ...range)),
    readLast: (stream, count) => (unreadable(stream) ? Promise.resolve(undecodable) : opened.readLast(stream, count)),
  })
  const shownAtOnce: Documents['find'] = async (...query) => {
    const events = eventsIn(log)
    const position = events.at(-1)?.position ?? beginning
    await applyBatch(anyProjection(messages), documents, { events, position })
    return documents.find(...query)
  }
  const read = isShownAtOnce ? { ...documents, find: shownAtOnce } : documents
  const portsOn = (given: EventStore, backoff: () => Promise<void> = nextTurn) => ({
    ...{ store: decoding(given), commandHandler: sharedHandler(decoding(given), clock), documents: read },
    ...{ clock, ids, logger, monotonic, backoff },
    ...{ failingWork: tried, playbookAt: () => Promise.resolve(E.right(settingsWith(template))) },
    siteUrl: Promise.resolve('https://leads.example.com'),
    consentVerifier: {
      verify: (consent: Consent) => {
        asked.push(consent)
        return Promise.resolve(answer(consent, asked.length))
      },
    },
    messenger: {
      send: async ({ id, to }) => {
        sent.push(to)
        const said = await outcome(to)
        if (said === 'lost' || said.kind === 'accepted') taken.add(id)
        return said === 'lost' ? { kind: 'unknown', reason: 'no answer' } : said
      },
      settle: ({ id }, _since, others) => {
        known.push(...others)
        settles += 1
        const listed: Settled =
          taken.has(id) && isListed() ? { kind: 'accepted', providerId: 'SM1' } : { kind: 'absent' }
        return Promise.resolve(settled(settles) ?? listed)
      },
      eraseCopy: (id) => {
        beforeErasingCopy()
        erasedCopies.push(id)
        return Promise.resolve({ kind: 'erased' })
      },
    } satisfies Messenger,
    currentAccount: (id: AccountId) =>
      Promise.resolve(
        unreadable(`account-${id}`) ? undecodable : E.right(openAccountState({ accountId: id, ...owner(id) })),
      ),
    senderOptOuts: { includes: () => Promise.resolve(E.right(isOptedOutOfSender)) },
    currentHold: async (id: AccountId) => {
      lookUpHold?.(id)
      return loadState(sharedHandler(decoding(given), clock), sendingHold, id)
    },
    rates,
    consentsUnderCheck,
    reservations: segmentReservations(monotonic),
  })

  const requestMessage = async (n: number, id: MessageId, purpose: Purpose, text: string | null): Promise<void> => {
    const ids = { account_id: accountId(), contact_id: contactId(n), engagement_id: engagementId(n) }
    const request = { purpose, text, expires_at: later(clock.now(), 3 * 24 * 3_600_000) }
    rightOf(await execute(message, id, { type: 'RequestMessage', ids: { message_id: id, ...ids }, request }, envelope))
  }

  return {
    asked,
    sent,
    erasedCopies,
    /** The ids of others, as the provider was told them where it was asked for a message. */
    known,
    logger,
    /** Why the worker tries something again. */
    retrying: tried.reason,
    /** What was recorded of consents and messages, in order. */
    recorded: () => eventsIn(log).flatMap(({ type }) => (/^(Consent|Step|Message)/.test(type) ? [type] : [])),
    /** What was recorded of parked events, by process manager and stream. */
    parked: () => eventsIn(log).filter(({ type }) => /^(EventParked|ParkedEvent)/.test(type)),
    /** An operator has all that is parked tried again. */
    retryParked: async () => {
      for (const event of eventsIn(log)) {
        if (event.type !== 'EventParked') continue
        rightOf(await execute(parkedEvent, event.data.parked_event_id, { type: 'RequestRetry' }, envelope))
      }
    },
    /** What was recorded of senders and of steps that were put off or left out. */
    heldUp: () => eventsIn(log).filter(({ type }) => /^(Sender|SegmentLimit|StepPostponed|StepSkipped)/.test(type)),
    usedSegments: async () => rightOf(await usageIn(documents, accountId(), '2026-01')).segments,
    /** The provider reports on a message of the account. */
    report: async (command: SendingHoldCommand) => {
      rightOf(await execute(sendingHold, command.accountId, command, envelope))
    },
    notes: () =>
      eventsIn(log).flatMap((event) =>
        event.type === 'ActivityRecorded' ? [[event.data.activity.label, event.data.activity.note]] : [],
      ),
    /**
     * The lead number `n` comes, of the contact number `person`, which has a phone number of its own. `begins`: so does
     * its conversation. Without steps its consent is awaited for what a member writes.
     */
    submit: async (
      n: number,
      account = 1,
      consent: { readonly consent?: 'awaited' | 'refused' } | 'without steps' = { consent: 'awaited' },
      person = n,
      firstStepAt = at(),
      begins = true,
    ) => {
      const own = { lead_id: leadId(n), account_id: accountId(account), contact_id: contactId(person) }
      const number = phone(person)
      const facts = leadFacts({ ...own, engagement_id: engagementId(n), details: details({ phone: number }) })
      rightOf(await execute(lead, leadId(n), { type: 'SubmitLead', facts }, envelope))
      const engaged = {
        ...{ contactId: contactId(person), accountId: accountId(account), leadId: leadId(n), sourceId: sourceId() },
        ...{ sourceTitle: 'Search ads', playbookId: playbookId(), engagementId: engagementId(n) },
      }
      const engage = { type: 'EngageLead', ...engaged, details: facts.details, submittedAt: at() } as const
      rightOf(await execute(contact, contactId(person), engage, envelope))
      const follows =
        consent === 'without steps'
          ? { awaitsConsent: true }
          : { followUp: { playbook_version: 1, first_step_at: firstStepAt, ...consent } }
      const start = { attribution: attribution({ ...own, engagement_id: engagementId(n) }), filtered: false }
      const command = { type: 'StartEngagement', ...start, ...follows, submittedAt: at(), engagedAt: at() } as const
      if (begins) rightOf(await execute(engagement, engagementId(n), command, envelope))
      return number
    },
    /** What follows from all that was recorded is carried out. */
    react: async () => {
      for (const intent of eventsIn(log).flatMap(reactions)) {
        const { decider, id, command } = intent as Executed
        rightOf(await execute(decider, id, command, envelope))
      }
    },
    /** The contact of the lead is being forgotten: its lead is, its engagement not yet. */
    eraseLead: async (n: number) => {
      const erase = { type: 'EraseLead', erasureId: 'ers_00000000000000000000000001', submittedAt: at() } as const
      rightOf(await execute(lead, leadId(n), erase, envelope))
    },
    /** Something else happens to the engagement of the lead number `n`. */
    executeOnEngagement: async (n: number, command: EngagementCommand) => {
      rightOf(await execute(engagement, engagementId(n), command, envelope))
    },
    /** The contact of the lead number `n` opts out, and the reactions to that are still to come. */
    optOut: async (n: number) => {
      const optOut = { type: 'OptOut', engagementId: engagementId(n) } as const
      rightOf(await execute(contact, contactId(n), optOut, envelope))
    },
    /** The first message of the lead number `n` is erased. */
    eraseMessage: async (n: number) => {
      const message_id = stepMessageIdOf(engagementId(n), 0)
      const ids = { account_id: accountId(), contact_id: contactId(n), engagement_id: engagementId(n) }
      const erase = { type: 'EraseMessage', of: { message_id, ...ids }, beganAt: at(), history: [] } as const
      rightOf(await execute(message, message_id, erase, envelope))
    },
    /** The provider reports that it has taken the first message of the lead number `n`. */
    reportTaken: async (n: number, providerId: string) => {
      const command = { type: 'ReportMessage', report: { kind: 'taken', providerId }, retryAt: undefined } as const
      rightOf(await execute(message, stepMessageIdOf(engagementId(n), 0), command, envelope))
    },
    /** The provider reports that it has lost what it had taken: it may be tried again. */
    reportLost: async (n: number, providerId: string, retryAt: Instant) => {
      const report = { kind: 'unreached', providerId, reason: 'the phone was off' } as const
      const command = { type: 'ReportMessage', report, retryAt } as const
      rightOf(await execute(message, stepMessageIdOf(engagementId(n), 0), command, envelope))
    },
    /** Nothing is left of its first message but the event that closes it, and what came after that. */
    truncateMessage: async (n: number) => {
      const stream = `message-${stepMessageIdOf(engagementId(n), 0)}`
      const closing = rightOf(await store.read(stream)).events.find(({ type }) => type === 'MessageErased')
      if (closing !== undefined) rightOf(await store.truncate(stream, closing.revision))
    },
    /** A member writes to the contact of the lead number `n`, and has three days for it. */
    write: (n: number) => requestMessage(n, messageId(n), 'member', 'By hand'),
    /** The contact of the lead number `n` is to be answered with the message number `nth`. */
    askForHelp: (n: number, nth: number) => requestMessage(n, messageId(nth), 'help', null),
    /** The task of a requested message. */
    sendRequested: async (n: number): Promise<void> => {
      await sendRequested(portsOn(store), testLease('contacts_0'), messageId(n))
    },
    /** Something is recorded of the account: what it is then, the plan says. */
    tellAccount: async (event: AccountEvent) => {
      const id = ids.uuid()
      const own = { id, correlationId: id, causationId: id, schemaVersion, actor: 'operator', time: clock.now() }
      const stream = `account-${accountId()}`
      const { revision } = rightOf(await store.read(stream))
      rightOf(await store.append(stream, revision, [{ ...own, ...event }]))
    },
    toTime: (instant: Instant): void => clock.set(instant),
    /** What is set for the time until then fires. */
    passTo: (instant: Instant): void => {
      while (clock.toNextTimer(millisecondsOf(instant)));
    },
    prepare: async () => rightOf(await documents.prepare(collectionOf(messages))),
    /**
     * A process that runs the task of the lead number `n` and, after so many appends, dies. Resolves to the number of
     * appends that it began.
     */
    runTask: async (n: number, dyingAt = Infinity): Promise<number> => {
      let appends = 0
      const dying: EventStore = {
        ...store,
        append: (...args) => {
          appends += 1
          return appends > dyingAt ? Promise.reject(new Error('the process died')) : store.append(...args)
        },
      }
      await runEngagementTask(portsOn(dying), testLease('contacts_0'), engagementId(n)).catch(() => undefined)
      return appends
    },
    /**
     * A process that runs the task of the lead number `n` or of a message. `meanwhile` happens while the store, which
     * is away for five seconds, does not take the next append to a stream of the category.
     */
    runTaskWhileAway: async (of: number | MessageId, category: string, meanwhile: () => Promise<void>) => {
      let isAway = true
      const away: EventStore = {
        ...store,
        append: (stream, ...rest) =>
          isAway && stream.startsWith(`${category}-`)
            ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
            : store.append(stream, ...rest),
      }
      const backoff = async (): Promise<void> => {
        await monotonic.sleep(5_000, new AbortController().signal)
        await meanwhile()
        isAway = false
      }
      const ports = portsOn(away, backoff)
      const lease = testLease('contacts_0')
      await (typeof of === 'number'
        ? runEngagementTask(ports, lease, engagementId(of))
        : sendRequested(ports, lease, of))
    },
    /** A worker of the shard of the lead number `n`, or of others, with the read models that it reads. */
    work: (n: number, shards: ReadonlyArray<string> = [contactShards.of(contactId(n))]) => {
      const following = { store, logger, backoff: nextTurn }
      const lease = testLease('read models')
      const leases = new Map(shards.map((shard) => [shard, testLease(shard)]))
      const shown: Documents = {
        ...documents,
        apply: async (collection, ...written) => {
          await beforeShowing(collection)
          return documents.apply(collection, ...written)
        },
      }
      const followUpsFollower = readModelFollower(anyProjection(followUps), following, shown)
      const messagesFollower = readModelFollower(anyProjection(messages), following, shown)
      const running = [followUpsFollower.run(lease), messagesFollower.run(lease)]
      const ports = { ...portsOn(store), documents: workerReads(documents) }
      const worker = followUpWorker({ ...ports, followUpsFollower, messagesFollower })
      const { stop } = follow(worker.follower, following)
      const working = Promise.all([...leases.values()].map(worker.work))
      /** The lease of a shard, or of all, is to be given back. */
      const recall = (shard?: string): void => {
        for (const [name, one] of leases) if (shard === undefined || name === shard) one.recall()
      }
      t.teardown(async () => {
        recall()
        lease.recall()
        await stop()
        await Promise.all([working, ...running])
      })
      return {
        working,
        recall,
        /** As after the subscription to the log was lost. */
        followAnew: () => worker.follower.begin(lease.ending),
      }
    },
  }
}
