import type shared from '@eventstore/db-client/generated/shared_pb.js'
import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { append, maxAppendSize, type AppendRequest, type AppendResult } from './append-decision.js'
import { appendRequest, batchAppendRequest, idOf } from './decode.js'
import { appendAnswer, batchAppendAnswer } from './encode-appends.js'
import type { Served } from './served.js'
import { badRequest, streamDeleted, tooBig, tooLate, unavailable, type CallStatus } from './statuses.js'

type Reply = {
  /** True when nobody waits for an answer any more: what was not written then never is. */
  readonly isOver: () => boolean
  readonly answer: (result: AppendResult) => void
  readonly fail: (status: CallStatus) => void
}

/** Writes an append and answers it, as far as the faults of the moment let it. */
const perform = ({ log, answers, faults, count }: Served, request: AppendRequest, reply: Reply): void => {
  count('appends')
  const refusal = faults.refusalOf('append', request.stream)
  if (refusal !== undefined) {
    reply.fail(refusal)
    return
  }
  const write = (): void => {
    if (reply.isOver()) return
    const result = append(log, answers, request, Date.now())
    const end = faults.endOfAppend()
    if (end === 'broken') reply.fail(unavailable())
    else if (end === 'answered') reply.answer(result)
  }
  const delay = faults.appendDelay()
  if (delay === 0) faults.whenSpeaking(write)
  else setTimeout(() => faults.whenSpeaking(write), delay).unref()
}

type Begun = {
  readonly options: streams.BatchAppendReq.Options
  readonly messages: Array<streams.BatchAppendReq.ProposedMessage>
}

/** One call for the appends of a client. Each comes in a message or more, and is answered when it was written. */
export const batchAppend =
  (served: Served): IStreamsServer['batchAppend'] =>
  (call) => {
    const begun = new Map<string, Begun>()
    let isOver = false
    const end = (): void => {
      isOver = true
    }
    const fail = (status: CallStatus): void => {
      if (isOver) return
      isOver = true
      call.emit('error', status)
    }
    const answer = (id: shared.UUID | undefined, { options, messages }: Begun): void => {
      const request = batchAppendRequest(options, messages)
      perform(served, request, {
        isOver: () => isOver,
        answer: (result) => call.write(batchAppendAnswer(id, options, request.expected, result)),
        fail,
      })
    }
    call.on('data', (message: streams.BatchAppendReq) => {
      if (isOver) return
      const id = message.getCorrelationId()
      const key = idOf(id)
      const options = message.getOptions()
      const one = begun.get(key) ?? (options === undefined ? undefined : { options, messages: [] })
      if (one === undefined) {
        fail(badRequest())
        return
      }
      one.messages.push(...message.getProposedMessagesList())
      begun.set(key, one)
      if (!message.getIsFinal()) return
      begun.delete(key)
      answer(id, one)
    })
    call.on('cancelled', end)
    call.on('end', () => {
      end()
      call.end()
    })
  }

/** A call for each append. */
export const plainAppend =
  (served: Served): IStreamsServer['append'] =>
  (call, callback) => {
    let options: streams.AppendReq.Options | undefined
    const messages: Array<streams.AppendReq.ProposedMessage> = []
    call.on('data', (message: streams.AppendReq) => {
      options ??= message.getOptions()
      const proposed = message.getProposedMessage()
      if (proposed !== undefined) messages.push(proposed)
    })
    call.on('end', () => {
      if (options === undefined) {
        callback(badRequest())
        return
      }
      const request = appendRequest(options, messages)
      perform(served, request, {
        isOver: () => call.cancelled,
        answer: (result) => {
          if (result.kind === 'done' || result.kind === 'wrong-version') {
            callback(null, appendAnswer(request.expected, result))
          } else callback(statusOf(request.stream, result))
        },
        fail: callback,
      })
    })
  }

type Refused = Exclude<AppendResult, { readonly kind: 'done' | 'wrong-version' }>

const statusOf = (stream: string, { kind }: Refused): CallStatus => {
  switch (kind) {
    case 'stream-deleted':
      return streamDeleted(stream)
    case 'bad-request':
      return badRequest()
    case 'too-big':
      return tooBig(maxAppendSize)
    case 'too-late':
      return tooLate()
  }
}
