import test from 'ava'
import { compose } from '../../../app/composition/compose.js'
import type { Config } from '../../../app/composition/config.js'
import { E } from '../../../domain/prelude.js'
import type { Site } from '../network/http.js'
import { storesOf } from '../stores/servers.js'
import type { Scope } from '../temporary-directory.js'
import { openDataDirectory } from './data-directory.js'
import { configOf } from './settings.js'

/** A service in this process. */
export type Service = Site & { readonly stop: () => Promise<void> }

const composed = async (dataDir: string, changed: Partial<Config>) => {
  const { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl } = await storesOf(dataDir)
  return compose(configOf(dataDir, { eventStoreUrl, mongoUrl, ...changed }))
}

/** Starts a service on a directory and its stores, with settings that differ from the usual ones. */
export const openService = async (dataDir: string, changed: Partial<Config> = {}): Promise<Service> => {
  const service = await composed(dataDir, changed)
  if (E.isLeft(service)) throw new Error(service.left)
  return { url: service.right.address, stop: service.right.stop }
}

/** The one sentence with which a start is refused that must be. */
export const refusalOf = async (dataDir: string, changed: Partial<Config> = {}): Promise<string> => {
  const service = await composed(dataDir, changed)
  if (E.isLeft(service)) return service.left
  await service.right.stop()
  throw new Error('the start was not refused')
}

/** Starts a service; it stops when `scope` is over, if it has not stopped before. */
export const serviceFor = async (scope: Scope, dataDir: string, changed?: Partial<Config>): Promise<Service> => {
  const { url, stop } = await openService(dataDir, changed)
  let stopped: Promise<void> | undefined
  const stopOnce = (): Promise<void> => (stopped ??= stop())
  scope.teardown(stopOnce)
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
