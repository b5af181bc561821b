import type { MongoClient } from 'mongodb'

/** In milliseconds: what takes longer never ends. */
type Longest = { readonly heartbeat: number; readonly command: number }

type Hangs = {
  /** Whether a heartbeat or a command takes longer than any can. */
  readonly isHung: (now: number) => boolean
}

/**
 * Watches the heartbeats by which the driver learns about its servers, and the connections that its commands use. In
 * this version of the driver (7.8.0) what is written to a connection may never end, neither well nor with an error,
 * although it has time limits: it waits until the socket is drained, and one that is destroyed, in that moment or by
 * the time limit, never tells. After such a heartbeat the driver finds no server again, however long that server has
 * been back; of such a command the caller hears nothing any more.
 */
export const hangsOf = (client: Pick<MongoClient, 'on'>, longest: Longest, now: () => number): Hangs => {
  /** When the heartbeat that is under way began, by connection. */
  const heartbeats = new Map<string, number>()
  const endHeartbeat = ({ connectionId }: { readonly connectionId: string }): void =>
    void heartbeats.delete(connectionId)
  client.on('serverHeartbeatStarted', ({ connectionId }) => heartbeats.set(connectionId, now()))
  client.on('serverHeartbeatSucceeded', endHeartbeat)
  client.on('serverHeartbeatFailed', endHeartbeat)
  client.on('serverClosed', ({ address }) => heartbeats.delete(address))

  /**
   * By connection, when the command that uses it now began: each command takes one and gives it back, and the first are
   * those by which it is made. Not forgotten with a server that is left: what hangs there hangs on. The driver does not
   * tell the end of one that was made while its pool was paused, which seldom happens: then the client connects anew
   * for nothing.
   */
  const commands = new Map<string, number>()
  type OfConnection = { readonly address: string; readonly connectionId: unknown }
  const nameOf = ({ address, connectionId }: OfConnection): string => `${address}#${String(connectionId)}`
  const begin = (connection: OfConnection): void => void commands.set(nameOf(connection), now())
  const end = (connection: OfConnection): void => void commands.delete(nameOf(connection))
  client.on('connectionCreated', begin)
  client.on('connectionReady', end)
  client.on('connectionCheckedOut', begin)
  client.on('connectionCheckedIn', end)
  client.on('connectionClosed', end)
  client.on('topologyClosed', () => commands.clear())

  const isAnyLonger = (starts: Iterable<number>, limit: number, at: number): boolean =>
    [...starts].some((start) => at - start > limit)
  return {
    isHung: (at) =>
      isAnyLonger(heartbeats.values(), longest.heartbeat, at) || isAnyLonger(commands.values(), longest.command, at),
  }
}
