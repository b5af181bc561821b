import { monotonicTime } from '../../../adapters/node/monotonic-time.js'
import { openLogReader } from '../../../adapters/sqlite/log-reader.js'
import type { LogReader } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'

type OpenLog = { readonly log: LogReader; readonly close: () => Promise<void> }

/** The log that the settings name, to be read beside a service that runs or does not. Left: one sentence. */
export const openLog = async ({ dataDir, eventStoreUrl }: Config): Promise<Either<string, OpenLog>> => {
  if (eventStoreUrl === undefined) {
    const opened = openLogReader(dataDir, monotonicTime)
    if (E.isLeft(opened)) return E.left(`DATA_DIR: ${opened.left.reason}.`)
    const { log, close } = opened.right
    return E.right({ log, close })
  }
  // Loading the driver takes longer than most commands.
  const { connect } = await import('../../../adapters/eventstoredb/connection.js')
  const { eventStoreDb } = await import('../../../adapters/eventstoredb/event-store.js')
  const client = connect(eventStoreUrl)
  if (E.isLeft(client)) {
    return E.left('EVENTSTORE_URL: this is no connection string, or has an option that is not known.')
  }
  const store = eventStoreDb(client.right)
  return E.right({ log: store, close: store.close })
}
