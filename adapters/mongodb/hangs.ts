import type { MongoClient } from 'mongodb'

/** In milliseconds: what takes longer never ends. */
type Longest = { readonly heartbeat: number; readonly command: number }

type Hangs = {
  /** Whether a heartbeat or a command takes longer than any can. */
  readonly isHung: (now: number) => boolean
}

/**
 * Watches the heartbeats by which the driver learns about its servers, and the connections that its commands use. In this version of the
 * driver (7.8.0, and 7.9.0) what is written to a connection that breaks at that moment may never end, neither well nor with an error, although
 * it has time limits: the driver waits until a socket is drained that is destroyed already. After such a heartbeat it finds no server again,
 * however long that server has been back; of such a command the caller hears nothing any more.
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

  /** By server, when each connection was given to the command that uses it now: each command takes one, and gives it back. */
  const commands = new Map<string, Map<unknown, number>>()
  client.on('connectionCheckedOut', ({ address, connectionId }) => {
    const ofServer = commands.get(address) ?? new Map<unknown, number>()
    commands.set(address, ofServer.set(connectionId, now()))
  })
  client.on('connectionCheckedIn', ({ address, connectionId }) => commands.get(address)?.delete(connectionId))
  client.on('connectionPoolClosed', ({ address }) => commands.delete(address))

  const isLonger = (starts: Iterable<number>, limit: number, at: number): boolean =>
    [...starts].some((start) => at - start > limit)
  return {
    isHung: (at) =>
      isLonger(heartbeats.values(), longest.heartbeat, at) ||
      [...commands.values()].some((ofServer) => isLonger(ofServer.values(), longest.command, at)),
  }
}
