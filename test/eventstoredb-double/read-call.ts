import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { readRequest } from './decode.js'
import { readOnce } from './reads.js'
import type { Served } from './served.js'
import { badRequest } from './statuses.js'
import { subscribe } from './subscriptions.js'

/** The one call for all that reads: a subscription is a read that does not end. */
export const read =
  (served: Served): IStreamsServer['read'] =>
  (call) => {
    const options = call.request.getOptions()
    const isSubscription = options?.hasSubscription() === true
    served.count(isSubscription ? 'subscriptions' : 'reads')
    const requiresLeader = call.metadata.get('requires-leader').includes('true')
    const refusal = served.faults.refusalOf('read', undefined, requiresLeader)
    if (refusal !== undefined) call.emit('error', refusal)
    else if (options === undefined) call.emit('error', badRequest())
    else if (isSubscription) subscribe(served, call, readRequest(options))
    else {
      const request = readRequest(options)
      if (request.stream !== undefined) served.countRead(request.stream)
      readOnce(served, call, request)
    }
  }
