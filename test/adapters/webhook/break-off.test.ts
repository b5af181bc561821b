import test from 'ava'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { webhookClient } from '../../../adapters/webhook/client.js'

test('a request that is broken off ends at once, and closes its connection', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { send, close } = webhookClient({ allowPrivate: true })
  t.teardown(() => {
    close()
    server.close()
  })
  const breakingOff = new AbortController()
  const url = `http://127.0.0.1:${port}/`
  const sending = send({ url, token: 'x', body: '{}', id: 'any', timestamp: 1, signature: '' }, breakingOff.signal)
  const [connection] = (await once(server, 'connection')) as [Socket]
  await once(connection, 'data')
  const closed = once(connection, 'close')
  breakingOff.abort()
  t.like(await sending, { delivered: false, status: null, reason: 'broken off' })
  await closed
})
