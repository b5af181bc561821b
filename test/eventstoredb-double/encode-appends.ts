import rpcCode from '@eventstore/db-client/generated/code_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import rpc from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import any from 'google-protobuf/google/protobuf/any_pb.js'
import empty from 'google-protobuf/google/protobuf/empty_pb.js'
import { maxAppendSize, type AppendResult } from './append-decision.js'
import { byExpected, type Expected } from './expected.js'

type Done = Extract<AppendResult, { readonly kind: 'done' }>
type WrongVersion = Extract<AppendResult, { readonly kind: 'wrong-version' }>

/** The answer on a call that many appends share: it says what it is about, and brings its errors along. */
export const batchAppendAnswer = (
  correlationId: shared.UUID | undefined,
  options: streams.BatchAppendReq.Options,
  expected: Expected,
  result: AppendResult,
): streams.BatchAppendResp => {
  const answer = new streams.BatchAppendResp()
    .setCorrelationId(correlationId)
    .setStreamIdentifier(options.getStreamIdentifier())
  byExpected(expected, {
    any: () => answer.setAny(new empty.Empty()),
    noStream: () => answer.setNoStream(new empty.Empty()),
    streamExists: () => answer.setStreamExists(new empty.Empty()),
    revision: (revision) => answer.setStreamPosition(revision),
  })
  return result.kind === 'done'
    ? answer.setSuccess(batchSuccess(result))
    : answer.setError(batchError(result, expected))
}

const batchSuccess = ({ revision, position }: Done): streams.BatchAppendResp.Success => {
  const success = new streams.BatchAppendResp.Success()
  if (revision === undefined) success.setNoStream(new empty.Empty())
  else success.setCurrentRevision(String(revision))
  if (position === undefined) return success.setNoPosition(new empty.Empty())
  const text = String(position)
  return success.setPosition(new shared.AllStreamPosition().setCommitPosition(text).setPreparePosition(text))
}

const batchError = (result: Exclude<AppendResult, Done>, expected: Expected): rpc.Status => {
  const { Code } = rpcCode
  switch (result.kind) {
    case 'wrong-version':
      return errorOf(Code.FAILED_PRECONDITION, 'WrongExpectedVersion', batchWrongVersion(result, expected))
    case 'stream-deleted':
      return errorOf(Code.FAILED_PRECONDITION, 'StreamDeleted', new shared.StreamDeleted())
    case 'bad-request':
      return errorOf(Code.INVALID_ARGUMENT, 'BadRequest', new shared.BadRequest().setMessage(result.message))
    case 'too-big': {
      const exceeded = new shared.MaximumAppendSizeExceeded().setMaxappendsize(maxAppendSize)
      return errorOf(Code.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', exceeded)
    }
    case 'too-late':
      return errorOf(Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout())
  }
}

/** The client knows most of these errors by the name of their details, and the others by their message. */
const errorOf = (code: rpcCode.Code, name: string, details: { serializeBinary: () => Uint8Array }): rpc.Status => {
  const packed = new any.Any()
  packed.pack(details.serializeBinary(), `event_store.client.${name}`)
  return new rpc.Status().setCode(code).setMessage(name).setDetails(packed)
}

const batchWrongVersion = ({ actual }: WrongVersion, expected: Expected): shared.WrongExpectedVersion => {
  const wrong = new shared.WrongExpectedVersion()
  byExpected(expected, {
    any: () => wrong.setExpectedAny(new empty.Empty()),
    noStream: () => wrong.setExpectedNoStream(new empty.Empty()),
    streamExists: () => wrong.setExpectedStreamExists(new empty.Empty()),
    revision: (revision) => wrong.setExpectedStreamPosition(revision),
  })
  return actual === undefined
    ? wrong.setCurrentNoStream(new empty.Empty())
    : wrong.setCurrentStreamRevision(String(actual))
}

/** The answer on a call of one append, where the other refusals are the status of the call. */
export const appendAnswer = (expected: Expected, result: Done | WrongVersion): streams.AppendResp =>
  result.kind === 'done'
    ? new streams.AppendResp().setSuccess(success(result))
    : new streams.AppendResp().setWrongExpectedVersion(wrongVersion(result, expected))

const success = ({ revision, position }: Done): streams.AppendResp.Success => {
  const success = new streams.AppendResp.Success()
  if (revision === undefined) success.setNoStream(new shared.Empty())
  else success.setCurrentRevision(String(revision))
  if (position === undefined) return success.setNoPosition(new shared.Empty())
  const text = String(position)
  return success.setPosition(new streams.AppendResp.Position().setCommitPosition(text).setPreparePosition(text))
}

const wrongVersion = ({ actual }: WrongVersion, expected: Expected): streams.AppendResp.WrongExpectedVersion => {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  byExpected(expected, {
    any: () => wrong.setExpectedAny(new shared.Empty()),
    noStream: () => wrong.setExpectedNoStream(new shared.Empty()),
    streamExists: () => wrong.setExpectedStreamExists(new shared.Empty()),
    revision: (revision) => wrong.setExpectedRevision(revision),
  })
  return actual === undefined ? wrong.setCurrentNoStream(new shared.Empty()) : wrong.setCurrentRevision(String(actual))
}
