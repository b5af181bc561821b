import { neverAborted } from '../../../domain/abortable.js'
import type { Logger, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isFinal, StoreFailed } from '../../../domain/store-failed.js'
import { isLogged } from '../../../projections/subscriptions/retries/backoff.js'
import { checkpointCollection } from '../../../projections/subscriptions/checkpoint.js'
import { reactionsName } from '../../commands/reactions/reactor.js'
import type { Config } from '../config.js'
import type { Stores } from '../stores.js'

/**
 * The wait of a start for the servers that the settings name, however long they take and in whichever order they come.
 */
export type ServerWait = {
  /** By the settings that name servers which have not answered yet, or do not answer now: why. */
  readonly waitingFor: () => Readonly<Record<string, string>>
  /**
   * What a check finds, once the stores answer it: one that answered a moment ago may elect a primary now. Left: one
   * sentence that says what waiting can't mend, or what the check says.
   * @throws StoreFailed where asking again gives the same, and where no server is named
   */
  readonly answered: <A>(check: () => Promise<Either<string, A>>) => Promise<Either<string, A>>
}

type Where = Pick<Config, 'eventStoreUrl' | 'mongoUrl'>
type Asked = Pick<Stores, 'store' | 'documents' | 'documentsFailure' | 'eventStoreRefusal'>
type Told = { readonly setting?: string; readonly reason: string }
type Ports = { readonly monotonic: Pick<MonotonicClock, 'sleep'>; readonly logger: Pick<Logger, 'warn' | 'info'> }
type Server = { readonly setting: string; readonly ask: () => Promise<Either<StoreFailure, unknown>> }

/** Milliseconds between two looks at a server, and without an answer until the log says what is waited for. */
const interval = 500

const waits = 'the start waits for a server'

const unanswered = 'it has not answered yet'

/** Of a server that answers while a check goes on. */
const reading = 'it answers, and the start reads what it must know of it'

export const serverWait = (config: Where, stores: Asked, { monotonic, logger }: Ports): ServerWait => {
  const toldIfLate = tellingOfLate({ monotonic, logger })
  const servers = serversOf(config, stores)
  const waiting = new Map(servers.map(({ setting }) => [setting, unanswered]))
  /** Why a check is not over, although the servers answer: what it failed with, or that it goes on. */
  let reasonOfCheck: string | undefined

  const tell = (looks: number, fields: Told): void => {
    if (isLogged(looks - 1)) logger.warn(fields, waits)
  }

  const answers = async ({ setting, ask }: Server, refused: AbortSignal): Promise<Either<string, undefined>> => {
    const isOver = (): boolean => refused.aborted
    for (let looks = 1; !isOver(); looks += 1) {
      const asked = await (looks === 1 ? toldIfLate(ask(), { setting, reason: unanswered }, refused) : ask())
      // What its client says while it is closed is no word of the server.
      if (isOver()) break
      if (E.isRight(asked)) {
        waiting.delete(setting)
        if (looks > 1) logger.info({ setting }, 'the server answers')
        return E.right(undefined)
      }
      const { reason } = asked.left
      if (isFinal(asked.left)) return E.left(`${setting}: ${reason}.`)
      waiting.set(setting, reason)
      tell(looks, { setting, reason })
      await monotonic.sleep(interval, refused)
    }
    return E.right(undefined)
  }

  /** Left at the first refusal: no other server is waited for then, and one that hangs may never answer. */
  const allAnswer = (): Promise<Either<string, unknown>> =>
    new Promise((resolve, reject) => {
      const refusal = new AbortController()
      const all = servers.map(async (server) => {
        const answer = await answers(server, refusal.signal)
        if (E.isRight(answer)) return
        resolve(answer)
        refusal.abort()
      })
      Promise.all(all).then(() => resolve(E.right(undefined)), reject)
    })

  return {
    waitingFor: () => {
      const reason = reasonOfCheck
      return Object.fromEntries(reason === undefined ? waiting : servers.map(({ setting }) => [setting, reason]))
    },
    answered: async (check) => {
      for (let looks = 1; ; looks += 1) {
        const answer = await allAnswer()
        if (E.isLeft(answer)) return answer
        reasonOfCheck ??= reading
        try {
          const found = await (servers.length === 0 ? check() : toldIfLate(check(), { reason: reading }))
          reasonOfCheck = undefined
          return found
        } catch (error) {
          if (servers.length === 0 || !(error instanceof StoreFailed) || isFinal(error)) throw error
          reasonOfCheck = error.message
          tell(looks, { reason: error.message })
        }
        await monotonic.sleep(interval, neverAborted)
      }
    },
  }
}

/** Says once what is asked for, where the answer is late and the start is not over by then. */
const tellingOfLate =
  ({ monotonic, logger }: Ports) =>
  <A>(asked: Promise<A>, fields: Told, over = neverAborted): Promise<A> => {
    const answered = new AbortController()
    void monotonic.sleep(interval, answered.signal).then(() => {
      if (!answered.signal.aborted && !over.aborted) logger.warn(fields, waits)
    })
    return asked.finally(() => answered.abort())
  }

const serversOf = (
  { eventStoreUrl, mongoUrl }: Where,
  { store, documents, documentsFailure, eventStoreRefusal }: Asked,
): ReadonlyArray<Server> => {
  const eventStore: Server = {
    setting: 'EVENTSTORE_URL',
    ask: async () => {
      const answer = await store.head()
      return E.isLeft(answer) ? E.left((await eventStoreRefusal()) ?? answer.left) : answer
    },
  }
  const mongo: Server = {
    setting: 'MONGODB_URL',
    ask: async () => {
      const answer = await documents.exists(checkpointCollection(reactionsName))
      // It tells more than what an operation meets without a connection.
      const failure = documentsFailure()
      return E.isLeft(answer) && failure !== undefined ? E.left(failure) : answer
    },
  }
  return [...(eventStoreUrl === undefined ? [] : [eventStore]), ...(mongoUrl === undefined ? [] : [mongo])]
}
