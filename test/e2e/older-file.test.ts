import test from 'ava'
import { byHand } from '../kit/stores/sqlite.js'
import { addressOf, startService, stopped, type ServiceProcess } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'

const said = (service: ServiceProcess): ReadonlyArray<string> => service.logged().map(({ msg }) => msg)

test('the first start on a file of an older version says that it rewrites it, before it listens, and no other does', async (t) => {
  const dataDir = temporaryDirectory(t)
  const starts = async (): Promise<ReadonlyArray<string>> => {
    const service = startService(t, dataDir, { LOG_LEVEL: 'info' })
    await addressOf(service)
    await stopped(t, service)
    return said(service)
  }
  const asEver = ['listening', 'stopping', 'stopped']
  t.deepEqual(await starts(), asEver)
  byHand(dataDir, (file) => file.pragma('user_version = 1'))
  const rewrites = 'leadloop.db is of an older version and is rewritten once; the start goes on afterwards'
  t.deepEqual(await starts(), [rewrites, ...asEver])
  t.deepEqual(await starts(), asEver)
})
