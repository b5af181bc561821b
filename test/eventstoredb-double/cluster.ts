import type { IGossipServer } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import type { IServerFeaturesServer } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { randomUUID } from 'node:crypto'
import type { Served } from './served.js'
import { unary } from './unary.js'

const streamMethods = {
  append: [],
  batchappend: ['deadline_duration'],
  delete: [],
  read: ['position', 'events'],
  tombstone: [],
} as const

/** The feature probe: what this double carries, and no persistent subscriptions nor projections. */
export const supportedMethods = ({ answers, faults }: Served): IServerFeaturesServer['getSupportedMethods'] => {
  const methods = new features.SupportedMethods().setEventStoreServerVersion(answers.fullVersion)
  for (const [method, named] of Object.entries(streamMethods)) {
    methods.addMethods(
      new features.SupportedMethod()
        .setServiceName('event_store.client.streams.streams')
        .setMethodName(method)
        .setFeaturesList([...named]),
    )
  }
  methods.addMethods(
    new features.SupportedMethod().setServiceName('event_store.client.gossip.gossip').setMethodName('read'),
  )
  return unary(faults, (_question, callback) => {
    const failure = faults.probeFailure()
    if (failure === undefined) callback(null, methods)
    else callback(failure)
  })
}

/** A cluster of one node, which leads it. */
export const gossipRead = ({ faults }: Served, host: string, port: () => number): IGossipServer['read'] => {
  const id = randomUUID()
  return unary(faults, (_question, callback) => {
    const node = new gossip.MemberInfo()
      .setInstanceId(new shared.UUID().setString(id))
      .setTimeStamp(`${Date.now()}0000`)
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port()))
    callback(null, new gossip.ClusterInfo().setMembersList([node]))
  })
}
