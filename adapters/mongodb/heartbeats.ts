import type { MongoClient } from 'mongodb'

export type Heartbeats = {
  /** Whether one is under way for longer than any can take. */
  readonly isHung: (now: number) => boolean
}

/**
 * Watches the heartbeats by which the driver learns of its servers. In this version of the driver (7.8.0) one that begins in
 * the moment in which its connection breaks may never end, neither well nor with an error, although it has time limits: then
 * no server is found again, however long it has been back.
 */
export const heartbeats = (client: Pick<MongoClient, 'on'>, longest: number, now: () => number): Heartbeats => {
  const begun = new Map<string, number>()
  const end = ({ connectionId }: { readonly connectionId: string }): void => void begun.delete(connectionId)
  client.on('serverHeartbeatStarted', ({ connectionId }) => begun.set(connectionId, now()))
  client.on('serverHeartbeatSucceeded', end)
  client.on('serverHeartbeatFailed', end)
  client.on('serverClosed', ({ address }) => begun.delete(address))
  return { isHung: (at) => [...begun.values()].some((start) => at - start > longest) }
}
