import type { MongoClient } from 'mongodb'

export type Heartbeats = {
  /** Whether one is under way for longer than any can take. */
  readonly isHung: (now: number) => boolean
}

/**
 * Watches the heartbeats by which the driver learns of its servers. One that begins in the moment in which its connection
 * breaks waits for ever, in this version of the driver: `write` tells it of a full buffer, and a socket that is gone never
 * tells that the buffer drained. Then no server is ever found again.
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
