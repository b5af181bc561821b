import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { randomIds } from '../../../adapters/node/ids.js'
import { clientCommands } from '../../../app/commands/client-commands.js'
import { reactionChains } from '../../../app/commands/reactions/reaction-chains.js'
import { inboundEndpoint, type InboundPorts } from '../../../app/messaging/inbound.js'
import type { TextProvider } from '../../../domain/text-provider.js'
import { contact } from '../../../domain/contact.js'
import { contactIdOf, senderOptOutIdOf } from '../../../domain/derived-id.js'
import { instantOf, millisecondsOf } from '../../../domain/instant.js'
import { playbook } from '../../../domain/playbook.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import type { Clock } from '../../../domain/ports.js'
import { E, TE } from '../../../domain/prelude.js'
import { senderOptOut } from '../../../domain/sender-opt-out.js'
import { openAccountState } from '../../kit/domain/account-state.js'
import { accountId, at, details, engagementId, leadId, phone, playbookId, sourceId } from '../../kit/domain/samples.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { atOnce, type Steps } from '../../kit/memory/steps.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'

const number = '+14155550100'
const pool = 'a messaging service'

const person = contactIdOf(rightOf(plainVault.accountSecret('secret')), phone())

const noQuery = { query: () => undefined, queryNames: () => [] }

/** A clock that goes on with each look, and is wrong by so many milliseconds. */
const skewedClock = (skew: number): Clock => {
  let time = millisecondsOf(at()) + skew
  return { now: () => instantOf((time += 1)) } as Clock
}

/**
 * An account with one contact, whose number writes to the account's sender; `names`: what the provider calls that, as
 * long as a process is not told of others.
 */
const openLog = async (names: ReadonlyArray<string>, sharedSender = number) => {
  const log = memoryLog()

  /** A process that takes texts; `steps`: when its reads and writes are done. */
  const process = (steps: Steps, skew = 0, to = names) => {
    const clock = skewedClock(skew)
    const store = memoryEventStore(log, steps)
    const commandHandler = sharedHandler(store, clock)
    const ids = randomIds(clock)
    const chains = reactionChains()
    const reactor = {
      react: async (events: Parameters<typeof chains.carryOutAll>[1]) => {
        const followed = await chains.carryOutAll(commandHandler, events)
        return { events: E.isRight(followed) ? followed.right : [], isPending: E.isLeft(followed) }
      },
    }
    const nothing = () => Promise.resolve(E.right([]))
    const ports = {
      ...{ store, commandHandler, clock, vault: plainVault, logger: recordingLogger(), unplaced: () => undefined },
      clientCommands: clientCommands({
        ...{ store, commandHandler, reactor, ids, unitOfWork: undefined, untilAnswerable: () => Promise.resolve() },
      }),
      currentStates: { get: () => Promise.resolve(E.right(openAccountState({ sealedSecret: 'secret' }))) },
      queries: {
        byKeys: () => Promise.resolve(E.right([{ id: person }])),
        values: () => Promise.resolve(E.right([accountId()])),
        page: nothing,
      },
      monotonic: { sleep: () => Promise.resolve() },
      readModelFollowers: [],
    } as unknown as InboundPorts
    const provider = {
      ...{ name: 'provider', timeLimit: 15_000, answersKeywords: true, sharedSender },
      isSigned: () => true,
      textFrom: (form: URLSearchParams) => {
        const text = form.get('text') ?? ''
        return E.right({ providerId: text, from: phone(), text, to, poolOfTo: undefined, mark: undefined })
      },
    } as unknown as TextProvider
    const { handle } = inboundEndpoint(ports, provider)
    return {
      commandHandler,
      /** Left where the provider is to send it again. */
      write: async (text: string) => {
        const request = { method: 'POST', params: {}, ...noQuery, header: () => undefined, body: { text } }
        return handle(TE.right({ request, caller: undefined }))()
      },
      /** What follows from all that was recorded is carried out. */
      reactToAll: () => chains.carryOutAll(commandHandler, eventsIn(log)),
    }
  }

  const setUp = process(atOnce)
  const { execute } = setUp.commandHandler
  const envelope = { actor: 'test', eventId: randomIds(skewedClock(0)).uuid }
  const settings = { ...defaultSettings, title: 'Short' }
  const create = { type: 'CreatePlaybook', playbookId: playbookId(), accountId: accountId(), settings } as const
  rightOf(await execute(playbook, playbookId(), create, envelope))
  const ids = { contactId: person, accountId: accountId(), leadId: leadId(), sourceId: sourceId() }
  const engage = {
    type: 'EngageLead' as const,
    ...{ ...ids, sourceTitle: 'Search ads', playbookId: playbookId(), details: details() },
    ...{ engagementId: engagementId(), submittedAt: at() },
  }
  rightOf(await execute(contact, person, engage, envelope))
  await setUp.reactToAll()

  return {
    process,
    isOptedOut: async () => {
      const { state } = rightOf(await setUp.commandHandler.load(contact, person))
      return state.optedOut
    },
    isOptedOutOf: async (name: string) => {
      const id = senderOptOutIdOf(plainVault.serviceSecret, name, phone())
      return rightOf(await setUp.commandHandler.load(senderOptOut, id)).state.optedOut
    },
  }
}

/** In which order the steps of processes come is the scheduler's. `dies`: after so many writes. */
const stepsOf = (scheduler: fc.Scheduler, dies: number): Steps => {
  let writes = 0
  return {
    read: async (of, look) => {
      await scheduler.schedule(Promise.resolve(), `reads ${of}`)
      return look()
    },
    write: async (of, put) => {
      await scheduler.schedule(Promise.resolve(), `writes ${of}`)
      writes += 1
      if (writes > dies) throw new Error('the process died')
      return put()
    },
  }
}

const deathAt = fc.oneof(fc.constant(Infinity), fc.nat({ max: 6 }))
const skew = fc.integer({ min: -3, max: 3 })

for (const [name, texts] of Object.entries({
  'a STOP and a START': ['STOP', 'START'],
  'a STOP and a YES': ['STOP', 'Yes'],
  'a STOP, a START and another STOP': ['STOP', 'START', 'Unsubscribe'],
})) {
  test(`${name} at the same moment, in whatever order their steps come and wherever processes die, leave the contact as its sender has it`, async (t) => {
    const lives = fc.tuple(...texts.map(() => fc.record({ dies: deathAt, skew })))
    const property = fc.asyncProperty(
      fc.scheduler(),
      lives,
      fc.constantFrom([number], [number, pool], [pool, number]),
      async (scheduler, processes, names) => {
        const { process, isOptedOut, isOptedOutOf } = await openLog(names)
        const writing = texts.map(async (text, index) => {
          const { dies = Infinity, skew: wrongBy = 0 } = processes[index] ?? {}
          const answer = await process(stepsOf(scheduler, dies), wrongBy)
            .write(text)
            .catch(() => E.left(undefined))
          return E.isLeft(answer) ? [text] : []
        })
        const unanswered = (await scheduler.waitFor(Promise.all(writing))).flat()
        const after = process(atOnce)
        for (const text of unanswered) assert.ok(E.isRight(await after.write(text)), text)
        assert.ok(E.isRight(await after.reactToAll()))
        const isOut = await isOptedOut()
        assert.deepEqual(
          await Promise.all(names.map(isOptedOutOf)),
          names.map(() => isOut),
        )
      },
    )
    await holdsAsync(t, property, { numRuns: 150 })
  })
}

test('a STOP and a START at the same moment to two numbers of a pool leave the contact as the pool has it', async (t) => {
  const property = fc.asyncProperty(fc.scheduler(), fc.tuple(skew, skew), async (scheduler, skews) => {
    const { process, isOptedOut, isOptedOutOf } = await openLog([pool], pool)
    const writing = ['STOP', 'START'].map(async (text, index) => {
      const to = [`${number}${index}`, pool]
      assert.ok(E.isRight(await process(stepsOf(scheduler, Infinity), skews[index], to).write(text)))
    })
    await scheduler.waitFor(Promise.all(writing))
    assert.ok(E.isRight(await process(atOnce).reactToAll()))
    assert.equal(await isOptedOut(), await isOptedOutOf(pool))
  })
  await holdsAsync(t, property, { numRuns: 150 })
})
