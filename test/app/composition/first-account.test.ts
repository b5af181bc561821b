import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { aesVault } from '../../../adapters/node/vault.js'
import { clientCommands } from '../../../app/commands/client-commands.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { openFirstAccount } from '../../../app/composition/first-account.js'
import { logCollection } from '../../../app/composition/store-checks.js'
import { idsInApiKey, isHashOf } from '../../../app/http/api-key.js'
import type { ManagePorts } from '../../../app/manage/ports.js'
import { neverAborted } from '../../../domain/abortable.js'
import { account } from '../../../domain/account.js'
import { beginning } from '../../../domain/event.js'
import { idIn } from '../../../domain/decider.js'
import { categories } from '../../../domain/events.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import type { EventStore } from '../../../domain/ports.js'
import { queries } from '../../../projections/queries.js'
import { anyProjection, collectionOf } from '../../../projections/projection.js'
import { sourceList } from '../../../projections/read-models/lists/source-list.js'
import { applyBatch } from '../../../projections/subscriptions/runner.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { isOver } from '../../kit/time/turns.js'

const vault = aesVault(Buffer.alloc(32, 1))

/** How a store ends: the append does not happen, or it does and nobody hears of it. */
type Death = { readonly append: number; readonly isWritten: boolean }

/** The starts of processes on one store, one after the other. */
const open = () => {
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
    start: async (death?: Death) => {
      const store = dying(memoryEventStore(log), death)
      const commandHandler = cachedHandler(store, clock)
      const reactions = reactor({ commandHandler, logger: recordingLogger() })
      rightOf(await documents.prepare(logCollection))
      rightOf(await documents.prepare(collectionOf(sourceList)))
      const isLogEmpty = log.events.length === 0
      // What a start finishes and shows before it takes requests.
      for await (const batch of store.history(beginning, categories, neverAborted)) {
        await reactions.react(batch.events)
        await applyBatch(anyProjection(sourceList), documents, batch)
      }
      const hasPendingReactions = () => Promise.resolve(false)
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
          awaitReadModels: () => Promise.resolve(),
        }),
        queries: queries({ store, documents, hasPendingReactions }),
        vault,
        ids,
        siteUrl: () => 'http://leads.example',
        documents,
      } as unknown as ManagePorts & { readonly documents: typeof documents }
      const opening = openFirstAccount(ports, isLogEmpty)
      return (await isOver(opening)) ? { isOver: true, first: await opening } : { isOver: false, first: undefined }
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
