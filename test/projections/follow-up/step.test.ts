import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import type { AccountState } from '../../../domain/account.js'
import { contact } from '../../../domain/contact.js'
import { engagement } from '../../../domain/engagement.js'
import type { AccountId } from '../../../domain/ids.js'
import { message } from '../../../domain/message.js'
import { defaultSettings } from '../../../domain/playbook.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { sender } from '../../../domain/sender.js'
import type { Messenger, MessengerOutcome } from '../../../projections/follow-up/sending/messenger.js'
import { sendingRates } from '../../../projections/follow-up/sending/rate.js'
import { takeTurn } from '../../../projections/follow-up/step.js'
import { collectionOf } from '../../../projections/projection.js'
import { messages } from '../../../projections/read-models/messages.js'
import {
  accountId,
  at,
  attribution,
  contactId,
  details,
  engagementId,
  leadId,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'

const settings = { ...defaultSettings, quiet_hours: null, steps: [{ message: 'Hi {{first_name}}', delay_minutes: 0 }] }

const owner = {
  kind: 'open',
  accountId: accountId(),
  title: 'Example Agency',
  enabled: true,
  sender: null,
  segmentsPerMonth: null,
} as unknown as AccountState

/** A contact whose first message is due, and a provider that keeps what it takes. */
const openStage = async (outcome: (taken: number) => MessengerOutcome | 'lost') => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const clock = manualClock()
  const ids = randomIds(clock)
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(messages)))
  const taken: Array<string> = []
  const messenger: Messenger = {
    send: ({ id }) => {
      const answer = outcome(taken.length)
      if (answer === 'lost' || answer.kind === 'accepted') taken.push(id)
      return Promise.resolve(answer === 'lost' ? { kind: 'unknown', reason: 'no answer' } : answer)
    },
    settle: ({ id }) =>
      Promise.resolve(taken.includes(id) ? { kind: 'accepted', providerId: 'SM1' } : { kind: 'absent' }),
    eraseCopy: () => Promise.resolve({ kind: 'erased' }),
  }
  const cause = { actor: 'test', eventId: ids.uuid }
  const { execute } = sharedHandler(store, clock)

  /** The lead number `n`, with a conversation of the same number. */
  const engage = async (n: number, consent: { readonly consent?: 'refused' } = {}): Promise<void> => {
    const ids = { leadId: leadId(n), engagementId: engagementId(n) }
    const lead = { ...ids, accountId: accountId(), sourceId: sourceId(), sourceTitle: 'Search ads', details: details() }
    const when = { submittedAt: at(n - 1), at: at(n - 1) }
    const engaged = { contactId: contactId(), playbookId: playbookId(), ...lead, ...when }
    rightOf(await execute(contact, contactId(), { type: 'EngageLead', ...engaged }, cause))
    const attributed = attribution({ lead_id: leadId(n), engagement_id: engagementId(n) })
    const start = { attribution: attributed, submittedAt: at(n - 1), engagedAt: at(n - 1), filtered: false } as const
    const followUp = { playbook_version: 1, first_step_at: at(), ...consent }
    rightOf(await execute(engagement, engagementId(n), { type: 'StartEngagement', ...start, followUp }, cause))
  }
  await engage(1)

  return {
    taken,
    engage,
    /** What was recorded of the step, in order. */
    recorded: () => eventsIn(log).flatMap(({ type }) => (/^(Step|Message)/.test(type) ? [type] : [])),
    /** A process that takes the turn and, before its append of this number, dies. */
    takeTurn: async (dyingAt = Infinity): Promise<void> => {
      let appends = 0
      const dying: EventStore = {
        ...store,
        append: (...args) => {
          appends += 1
          return appends > dyingAt ? Promise.reject(new Error('the process died')) : store.append(...args)
        },
      }
      const ports = {
        commandHandler: sharedHandler(dying, clock),
        ...{ store: dying, consentVerifier: { verify: () => Promise.reject(new Error('nobody asks')) } },
        ...{ documents, messenger, clock, ids, time: turnTime, logger: recordingLogger(), backoff: nextTurn },
        playbookAt: () => Promise.resolve(settings),
        siteUrl: Promise.resolve('https://leads.example.com'),
        currentAccount: () => Promise.resolve(E.right(owner)),
        currentSender: (id: AccountId) => loadState(sharedHandler(store, clock), sender, id),
        rates: sendingRates(() => 1),
      }
      await takeTurn(ports, testLease('contacts_0'), engagementId()).catch(() => undefined)
    },
    toNextTry: (): void => {
      clock.set(at(60_000))
    },
    execute: async (command: Parameters<typeof engagement.decide>[0]) => {
      rightOf(await execute(engagement, engagementId(), command, cause))
    },
    state: async () => rightOf(await sharedHandler(store, clock).load(message, taken[0] ?? '')).state,
  }
}

const accepted = { kind: 'accepted', providerId: 'SM1' } as const

test('a step is decided, its message recorded before and after it is sent, and that is all', async (t) => {
  const { takeTurn: take, taken, recorded } = await openStage(() => accepted)
  await take()
  await take()
  t.is(taken.length, 1)
  t.deepEqual(recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
})

for (const dyingAt of [0, 1, 2]) {
  test(`a process that dies after ${dyingAt} of its records leaves a message that is sent once`, async (t) => {
    const { takeTurn: take, taken, recorded } = await openStage(() => accepted)
    await take(dyingAt)
    await take()
    await take()
    t.is(taken.length, 1)
    t.is(recorded().filter((type) => type === 'MessageSent').length, 1)
  })
}

test('a provider that took a message and did not answer is asked, and the message is not sent again', async (t) => {
  const { takeTurn: take, taken, state } = await openStage(() => 'lost')
  await take()
  await take()
  t.is(taken.length, 1)
  t.like(await state(), { kind: 'sent' })
})

test('what a provider could not take is tried again, as a step that is decided anew', async (t) => {
  let tries = 0
  const failed = { kind: 'failed', reason: 'HTTP 503', retryAt: undefined } as const
  const stage = await openStage(() => ((tries += 1) === 1 ? failed : accepted))
  await stage.takeTurn()
  await stage.takeTurn()
  t.is(tries, 1, 'not before its time')
  stage.toNextTry()
  await stage.takeTurn()
  t.deepEqual(stage.recorded(), [
    ...['StepBegun', 'MessageBegun', 'MessageAttemptFailed'],
    ...['StepBegun', 'MessageTriedAgain', 'MessageSent'],
  ])
})

test('a conversation that ended between two tries is not written to any more', async (t) => {
  const failed = { kind: 'failed', reason: 'HTTP 503', retryAt: undefined } as const
  const stage = await openStage((taken) => (taken === 0 ? failed : accepted))
  await stage.takeTurn()
  await stage.execute({ type: 'EndEngagement', reason: 'conversion', at: at(1) })
  stage.toNextTry()
  await stage.takeTurn()
  t.deepEqual(stage.taken, [])
})

test('what cannot be sent for good ends the message, and nothing repeats it', async (t) => {
  const stage = await openStage(() => ({ kind: 'refused', reason: 'a code' }))
  await stage.takeTurn()
  await stage.takeTurn()
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageFailed'])
})

test('a newer lead takes over the messages of its contact', async (t) => {
  const { takeTurn: take, taken, engage, recorded } = await openStage(() => accepted)
  await engage(2)
  await take()
  t.deepEqual(taken, [])
  t.deepEqual(recorded(), ['StepsEnded'])
})

test('a newer lead that was filtered leaves the messages of the older one as they are', async (t) => {
  const { takeTurn: take, taken, engage, recorded } = await openStage(() => accepted)
  await engage(2, { consent: 'refused' })
  await take()
  t.is(taken.length, 1)
  t.deepEqual(recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
})
