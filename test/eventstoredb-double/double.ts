import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { batchAppend, plainAppend } from './appends.js'
import { gossipRead, supportedMethods } from './cluster.js'
import { softDelete, tombstone } from './deletions.js'
import { openFaults, type Faults } from './faults.js'
import { listenerOn } from './listener.js'
import { isSystemEvent, openLog, type LoggedEvent } from './log.js'
import { read } from './read-call.js'
import type { Calls, Served } from './served.js'
import { answersOf, type Version } from './version.js'

export type EventStoreDouble = {
  /** `esdb://127.0.0.1:PORT?tls=false` */
  readonly url: string
  readonly port: number
  readonly faults: Faults
  /** Every event in the log that is not the system's, in the order of the log. */
  readonly log: () => ReadonlyArray<LoggedEvent>
  readonly calls: () => Calls
  /** Takes out of the log what can't be read any more, as an operator has a server do. */
  readonly scavenge: () => void
  /** Whether any byte of what it keeps is of this text. */
  readonly holds: (text: string) => boolean
  /** The streams that were read so far, each as often as it was. */
  readonly streamsRead: () => ReadonlyArray<string>
  /** Breaks every connection and refuses new ones. Nothing of the double keeps the process alive then. */
  readonly stop: () => Promise<void>
  /** Listens again, on the same port, with all that was written. */
  readonly start: () => Promise<void>
}

const host = '127.0.0.1'

/** An event may have 16 MiB on a real server; what is too big for an append must still arrive to be refused. */
const maxMessageSize = 17 * 1024 * 1024

/**
 * The protocol of EventStoreDB, as 24.10 speaks it or 23.10, on a log in memory: streams and the whole log, without
 * persistent subscriptions, projections, links and access rights.
 */
export const startDouble = async ({
  version = '24.10',
  fullVersion = answersOf[version].fullVersion,
}: { readonly version?: Version; readonly fullVersion?: string } = {}): Promise<EventStoreDouble> => {
  const log = openLog()
  const answers = { ...answersOf[version], fullVersion }
  const { faults, active } = openFaults(answers)
  const calls = { appends: 0, reads: 0, subscriptions: 0, cuts: 0 }
  const streamsRead: Array<string> = []
  const served: Served = {
    log,
    answers,
    faults: active,
    count: (call) => {
      calls[call] += 1
    },
    countRead: (stream) => void streamsRead.push(stream),
  }

  const server = new Server({ 'grpc.max_receive_message_length': maxMessageSize })
  // The connections are accepted here, since the server itself can't shut its port and open it again, and says goodbye.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const listener = listenerOn(host, (socket) => {
    injector.injectConnection(socket)
  })
  server.addService(StreamsService, {
    append: plainAppend(served),
    batchAppend: batchAppend(served),
    delete: softDelete(served),
    read: read(served),
    tombstone: tombstone(served),
  })
  server.addService(ServerFeaturesService, { getSupportedMethods: supportedMethods(served) })
  server.addService(GossipService, { read: gossipRead(served, host, listener.port) })

  await listener.open()
  return {
    url: `esdb://${host}:${listener.port()}?tls=false`,
    port: listener.port(),
    faults,
    log: () => log.all.filter((event) => !isSystemEvent(event)),
    calls: () => ({ ...calls }),
    scavenge: log.scavenge,
    holds: log.holds,
    streamsRead: () => [...streamsRead],
    stop: listener.close,
    start: listener.open,
  }
}
