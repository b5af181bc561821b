import type { MongoClient } from 'mongodb'

type Heartbeats = {
  /** Whether a heartbeat takes longer than any can. */
  readonly isHung: (now: number) => boolean
}

/**
 * Watches the heartbeats by which the driver learns about its servers. In this version of the driver (7.8.0) a heartbeat that
 * begins while its connection breaks may never end, neither well nor with an error, although it has time limits: then the
 * driver finds no server again, however long that server has been back.
 */
export const heartbeats = (client: Pick<MongoClient, 'on'>, longest: number, now: () => number): Heartbeats => {
  /** When the heartbeat that is under way began, by connection. */
  const startedAt = new Map<string, number>()
  const end = ({ connectionId }: { readonly connectionId: string }): void => void startedAt.delete(connectionId)
  client.on('serverHeartbeatStarted', ({ connectionId }) => startedAt.set(connectionId, now()))
  client.on('serverHeartbeatSucceeded', end)
  client.on('serverHeartbeatFailed', end)
  client.on('serverClosed', ({ address }) => startedAt.delete(address))
  return { isHung: (at) => [...startedAt.values()].some((start) => at - start > longest) }
}
