import { randomUUID } from 'node:crypto'
import { systemClock } from '../../adapters/node/clock.js'
import { randomIds } from '../../adapters/node/ids.js'
import { aesVault } from '../../adapters/node/vault.js'
import type { Config } from '../../app/composition/config.js'
import { openStores } from '../../app/composition/stores.js'
import { reactor } from '../../app/commands/reactions/reactor.js'
import type { AnyCommand, CommandHandler } from '../../domain/ports.js'
import type { Decider } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import { E, type Either } from '../../domain/prelude.js'
import { checkpointIn } from '../../projections/subscriptions/checkpoint.js'
import { cachedHandler } from '../kit/parts/command-handlers.js'
import { secretKey } from '../kit/service/settings.js'
import { recordingLogger } from '../kit/parts/recording-logger.js'

/** Where a service keeps what it does not keep in its directory. */
export type StoreUrls = Pick<Config, 'eventStoreUrl' | 'mongoUrl'>

export const embedded: StoreUrls = { eventStoreUrl: undefined, mongoUrl: undefined }

/** The parts of the service that write, on stores that no service has open. */
export const openTools = async (dataDir: string, urls = embedded) => {
  const logger = recordingLogger()
  const stores = orFail(await openStores({ dataDir, ...urls }, { newId: randomUUID, logger }))
  const { store, documents } = stores
  const clock = systemClock(1)
  const ids = randomIds(clock)
  const commandHandler = cachedHandler(store, clock)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  return {
    store,
    documents,
    clock,
    ids,
    commandHandler,
    vault: aesVault(secretKey),
    reactor: reactor({ commandHandler, logger }),
    run: running(commandHandler, ids.uuid),
    close: async () => {
      // What the reactions would find is done: the service need not look again.
      await checkpoint.load()
      const head = orFail(await store.head())
      await checkpoint.flush(head)
      orFail(await store.saveCheckpoint('reactions', head))
      await stores.close()
    },
  }
}

export type Tools = Awaited<ReturnType<typeof openTools>>

const running =
  (commandHandler: CommandHandler, eventId: () => string) =>
  async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
  ) =>
    orFail(await commandHandler.execute(decider, id, command, { actor: 'bench', eventId }))

export const orFail = <L, A>(result: Either<L, A>): A => {
  if (E.isLeft(result)) throw new Error(`the benchmark met ${JSON.stringify(result.left)}`)
  return result.right
}

/** Runs a task for each serial number, some of them at the same time. */
export const forEach = async (count: number, task: (serial: number) => Promise<void>): Promise<void> => {
  let next = 0
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < count) await task(next++)
    }),
  )
}
