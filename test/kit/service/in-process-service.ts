import test, { type ExecutionContext } from 'ava'
import { compose } from '../../../app/composition/compose.js'
import type { Config } from '../../../app/composition/config.js'
import { E } from '../../../domain/prelude.js'
import type { Site } from '../network/http.js'
import { storesOf } from '../stores/servers.js'
import { openDataDirectory } from './data-directory.js'
import { configOf } from './settings.js'

/** A service in this process. */
export type Service = Site & { readonly stop: () => Promise<void> }

/** Starts a service on a directory and its stores, with settings that differ from the usual ones. */
export const openService = async (dataDir: string, changed: Partial<Config> = {}): Promise<Service> => {
  const { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl } = await storesOf(dataDir)
  const service = await compose(configOf(dataDir, { eventStoreUrl, mongoUrl, ...changed }))
  if (E.isLeft(service)) throw new Error(service.left)
  return { url: service.right.address, stop: service.right.stop }
}

/** The same; it stops when the test is over, if it has not stopped before. */
export const serviceFor = async (t: ExecutionContext, dataDir: string, changed?: Partial<Config>): Promise<Service> => {
  const { url, stop } = await openService(dataDir, changed)
  let stopped: Promise<void> | undefined
  const stopOnce = (): Promise<void> => (stopped ??= stop())
  t.teardown(stopOnce)
  return { url, stop: stopOnce }
}

/** The service of a test file: it is there when the first test begins and stops when the last one has ended. */
export const serviceForFile = (changed: Partial<Config> = {}): Site => {
  const directory = openDataDirectory()
  let service: Service | undefined
  test.before(async () => {
    service = await openService(directory.path, changed)
  })
  test.after.always(async () => {
    await service?.stop()
    await directory.remove()
  })
  return {
    get url() {
      if (service === undefined) throw new Error('the service runs inside tests only')
      return service.url
    },
  }
}
