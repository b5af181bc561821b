import test from 'ava'
import { singleProcessMembership } from '../../../../adapters/in-process/single-process-leases.js'
import { randomIds } from '../../../../adapters/node/ids.js'
import { aesVault } from '../../../../adapters/node/vault.js'
import { clientCommands } from '../../../../app/commands/client-commands.js'
import { reactor } from '../../../../app/commands/reactions/reactor.js'
import { openFirstAccount, type FirstAccount } from '../../../../app/composition/start/first-account.js'
import { logCollection } from '../../../../app/composition/start/store-checks.js'
import { idsInApiKey, isHashOf } from '../../../../app/http/api-key.js'
import type { ManagePorts } from '../../../../app/manage/ports.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { account } from '../../../../domain/account.js'
import { beginning } from '../../../../domain/event.js'
import { categories } from '../../../../domain/events.js'
import { marketingSource } from '../../../../domain/marketing-source.js'
import type { EventStore } from '../../../../domain/ports.js'
import { idIn } from '../../../../domain/stream-name.js'
import type { Membership } from '../../../../projections/subscriptions/leases.js'
import { newEvent } from '../../../kit/domain/new-events.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { cachedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease, type TestLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { manualTime } from '../../../kit/time/manual-time.js'
import { isOver } from '../../../kit/time/turns.js'

const vault = aesVault(Buffer.alloc(32, 1))

/** How a store ends: the append does not happen, or it does and nobody hears of it. */
type Death = { readonly append: number; readonly isWritten: boolean }

type Sharing = Pick<Membership, 'share'>

/** Of processes that live side by side: a lease goes to one of them at a time, in the order in which they ask. */
const sharedLeases = () => {
  let before = Promise.resolve()
  const held: Array<TestLease> = []
  const membership: Sharing = {
    share: (_work, names, begin) => {
      for (const name of names()) {
        const lease = testLease(name)
        before = before.then(() => {
          held.push(lease)
          return begin(lease)
        })
      }
    },
  }
  return { membership, held }
}

/** The starts of processes on one store. */
const open = () => {
  const time = manualTime()
  const log = memoryLog()
  const documents = memoryDocuments(documentState())
  const clock = manualClock()
  const ids = randomIds(clock)

  /** The same store, which answers nothing from this append on. */
  const dying = (store: EventStore, death: Death | undefined): EventStore => {
    let appends = 0
    const never = new Promise<never>(() => undefined)
    return {
      ...store,
      append: async (...args) => {
        appends += 1
        if (death === undefined || appends < death.append) return store.append(...args)
        if (appends === death.append && death.isWritten) await store.append(...args)
        return never
      },
    }
  }

  return {
    events: () => eventsIn(log),
    documents,
    time,
    start: async (death?: Death, membership: Sharing = singleProcessMembership()) => {
      const store = dying(memoryEventStore(log), death)
      const commandHandler = cachedHandler(store, clock)
      const reactions = reactor({ commandHandler, logger: recordingLogger() })
      rightOf(await documents.prepare(logCollection))
      const isLogEmpty = log.events.length === 0
      // What a start finishes before it takes requests.
      for await (const batch of store.history(beginning, categories, neverAborted)) {
        await reactions.react(batch.events)
      }
      const { react } = reactions
      const ports = {
        store,
        commandHandler,
        clientCommands: clientCommands({
          store,
          commandHandler,
          reactor: { react },
          ids,
          unitOfWork: undefined,
          untilAnswerable: () => Promise.resolve(),
        }),
        vault,
        ids,
        siteUrl: () => 'http://leads.example',
      } as unknown as ManagePorts
      const opening = openFirstAccount({ ...ports, documents, membership, monotonic: time.process() }, isLogEmpty)
      const over = await isOver(opening)
      return { isOver: over, first: over ? await opening : undefined, opening }
    },
    use: async () => {
      rightOf(await memoryEventStore(log).append('account-1', 'no-stream', [newEvent(1)]))
    },
    isGoodKey: async (apiKey: string): Promise<boolean> => {
      const named = idsInApiKey(apiKey)
      if (named === undefined) return false
      const { state } = rightOf(await cachedHandler(memoryEventStore(log), clock).load(account, named.accountId))
      const key = state.kind === 'open' ? state.apiKeys.get(named.apiKeyId) : undefined
      return key !== undefined && isHashOf(apiKey, key.secretHash)
    },
  }
}

test('whatever step of the first start fails or is killed, a later one shows a key and a post URL that are good', async (t) => {
  let deaths = 0
  for (const isWritten of [false, true]) {
    for (let append = 1; ; append += 1) {
      const { start, isGoodKey, events } = open()
      const died = await start({ append, isWritten })
      if (died.isOver) break
      deaths += 1
      const { first } = await start()
      const where = `append ${append}, ${isWritten ? 'written' : 'not written'}`
      t.true(first !== undefined && (await isGoodKey(first.apiKey)), where)
      const sources = events().flatMap(({ stream }) => idIn(marketingSource, stream) ?? [])
      t.deepEqual([sources.length, first?.postUrl.endsWith(sources[0] ?? 'none')], [1, true], where)
      await first?.shown()
      t.is((await start()).first, undefined, where)
    }
  }
  t.true(deaths >= 10)
})

test('a key that nobody was shown is replaced, and one that was shown never', async (t) => {
  const { start, isGoodKey } = open()
  const killed = await start()
  const { first } = await start()
  t.true(first !== undefined && first.apiKey !== killed.first?.apiKey && (await isGoodKey(first.apiKey)))
  t.is(first?.postUrl, killed.first?.postUrl)
  await first?.shown()
  t.is((await start()).first, undefined)
})

test('once somebody uses the service no start makes a key', async (t) => {
  const { start, use, events } = open()
  await start({ append: 3, isWritten: true })
  await use()
  const before = events().length
  t.is((await start()).first, undefined)
  t.deepEqual(
    events()
      .slice(before)
      .filter(({ type }) => type === 'ApiKeyIssued'),
    [],
  )
})

const isKeyShown = (first: FirstAccount | undefined): boolean => first !== undefined

test('of processes that begin one after the other on an empty store, one shows a key, and there is one source', async (t) => {
  const { start, events } = open()
  const { membership } = sharedLeases()
  const one = await start(undefined, membership)
  const others = [await start(undefined, membership), await start(undefined, membership)]
  t.deepEqual(
    [one, ...others].map((each) => each.isOver),
    [true, false, false],
    'the others wait until it was shown',
  )
  await one.first?.shown()
  const all = await Promise.all([one, ...others].map(({ opening }) => opening))
  t.deepEqual(all.map(isKeyShown), [true, false, false])
  const made = events().map(({ type }) => type)
  for (const type of ['AccountOpened', 'ApiKeyIssued', 'MarketingSourceCreated'])
    t.is(made.filter((each) => each === type).length, 1, type)
})

test('where the process that opened the account is gone before it was shown, the next one shows a key', async (t) => {
  const { start, isGoodKey } = open()
  const { membership, held } = sharedLeases()
  await start(undefined, membership)
  const next = await start(undefined, membership)
  t.false(next.isOver)
  held[0]?.expire()
  const first = await next.opening
  t.true(first !== undefined && (await isGoodKey(first.apiKey)))
})

test('a process whose lease was lost on the way shows nothing', async (t) => {
  const { start } = open()
  const { membership, held } = sharedLeases()
  const losing: Sharing = {
    ...membership,
    share: (work, names, begin) =>
      membership.share(work, names, (lease) => {
        const working = begin(lease)
        held[0]?.expire()
        return working
      }),
  }
  const lost = await start(undefined, losing)
  t.deepEqual([lost.isOver, lost.first], [true, undefined])
  t.true(isKeyShown((await start(undefined, membership)).first))
})

test('a start waits ten seconds for another one at most, and holds the lease for nobody afterwards', async (t) => {
  const { start, time } = open()
  const { membership, held } = sharedLeases()
  const one = await start(undefined, membership)
  const late = await start(undefined, membership)
  t.false(late.isOver)
  await time.advance(10_000)
  t.is(await late.opening, undefined)
  await one.first?.shown()
  const next = await start(undefined, membership)
  t.deepEqual([next.isOver, next.first], [true, undefined])
  t.is(held.length, 2)
})
