import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { E, type Either } from '../../domain/prelude.js'

/** Milliseconds after which requests that are still under way are cut off. */
const drainLimit = 10_000

/** Gives the address; left: one sentence that names the setting that is wrong. */
export const listen = (
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Either<string, string>> =>
  new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const setting = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? 'PORT' : 'HOST'
      resolve(E.left(`${setting}: nothing can listen at ${host} port ${port} (${error.code ?? error.name}).`))
    })
    server.listen(port, host, () => {
      const { port: bound } = server.address() as AddressInfo
      const name = host.includes(':') ? `[${host}]` : host
      resolve(E.right(`http://${name}:${bound}`))
    })
  })

/** Takes no more requests and finishes those under way; idle connections are closed. */
export const drain = async (server: Server): Promise<void> => {
  const done = new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
  })
  const sweep = setInterval(() => {
    server.closeIdleConnections()
  }, 20)
  const cutOff = setTimeout(() => {
    server.closeAllConnections()
  }, drainLimit)
  await done
  clearInterval(sweep)
  clearTimeout(cutOff)
}
