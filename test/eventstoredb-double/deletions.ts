import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { deleteRequest, type DeleteRequest } from './decode.js'
import { deleteAnswer, tombstoneAnswer } from './encode-deletions.js'
import type { Expected } from './expected.js'
import type { Log } from './log.js'
import type { Served } from './served.js'
import { streamDeleted, wrongVersion, type CallStatus } from './statuses.js'
import { unary } from './unary.js'

export const softDelete = ({ log, faults }: Served): IStreamsServer['delete'] =>
  unary(faults, (question, callback) => {
    const request = deleteRequest(question.getOptions())
    const refusal = refusalOf(log, request)
    if (refusal === undefined) callback(null, deleteAnswer(log.delete(request.stream)))
    else callback(refusal)
  })

export const tombstone = ({ log, faults }: Served): IStreamsServer['tombstone'] =>
  unary(faults, (question, callback) => {
    const request = deleteRequest(question.getOptions())
    const refusal = refusalOf(log, request)
    if (refusal === undefined) callback(null, tombstoneAnswer(log.tombstone(request.stream)))
    else callback(refusal)
  })

const refusalOf = (log: Log, { stream: name, expected }: DeleteRequest): CallStatus | undefined => {
  const stream = log.stream(name)
  if (stream?.deletion === 'tombstone') return streamDeleted(name)
  const last = (stream?.events.length ?? 0) - 1
  const isExpected = expected === 'any' || expected === 'stream-exists' || numberOf(expected) === last
  return last >= 0 && isExpected ? undefined : wrongVersion(name, numberOf(expected), last)
}

/** Errors of calls have expectations as numbers. */
const numberOf = (expected: Expected): number => {
  switch (expected) {
    case 'no-stream':
      return -1
    case 'any':
      return -2
    case 'stream-exists':
      return -4
    default:
      return expected
  }
}
