import { createServer, type AddressInfo } from 'node:net'

/** Counts the connections that are made to a port of this machine, at whatever address of it. */
export type Trap = { readonly port: number; readonly seen: () => number; readonly close: () => Promise<void> }

export const openTrap = async (): Promise<Trap> => {
  let seen = 0
  const server = createServer((socket) => {
    seen += 1
    socket.on('error', () => undefined)
    socket.resume().end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  return { port, seen: () => seen, close: () => new Promise((resolve) => server.close(() => resolve())) }
}
