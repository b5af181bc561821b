import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ReadRequest } from './decode.js'
import { eventRead, streamNotFound } from './encode-reads.js'
import { matcherOf } from './filter.js'
import type { Log, LoggedEvent, Stream } from './log.js'
import { streamMessages, type ReadCall } from './flow-control.js'
import type { Served } from './served.js'
import { streamDeleted, unexpectedRead, type CallStatus } from './statuses.js'
import type { Answers } from './version.js'

/** Reads a stream or the whole log, once. */
export const readOnce = ({ log, answers, faults }: Served, call: ReadCall, request: ReadRequest): void => {
  const refusal = refusalOf(log, answers, request)
  if (refusal === undefined) streamMessages(call, faults, messagesOf(log, request))
  else call.emit('error', refusal)
}

const refusalOf = (
  log: Log,
  { noEventThere }: Answers,
  { stream, from, isBackwards, count }: ReadRequest,
): CallStatus | undefined => {
  if (stream === undefined) {
    if (count === 0) return unexpectedRead('Unexpected ReadAllResult: Error')
    return isInLog(log, from) ? undefined : unexpectedRead(noEventThere)
  }
  if (log.stream(stream)?.deletion === 'tombstone') return streamDeleted(stream)
  return count === 0 || (from === 'end' && !isBackwards)
    ? unexpectedRead('Unexpected ReadStreamResult: Error')
    : undefined
}

/**
 * A position is an event's, the beginning or beyond the end: in between a real server finds no record to begin with. A
 * scavenged chunk has a map, which leads from every position to the next record that is left.
 */
export const isInLog = ({ all, indexAfter, scavengedTo }: Log, from: ReadRequest['from']): boolean => {
  if (typeof from === 'string' || from === 0n || from < scavengedTo()) return true
  const after = indexAfter(from)
  return after === all.length || all[after - 1]?.position === from
}

/** Indexes of events, both inclusive; nothing when the lowest is above the highest. */
type Range = { readonly lowest: number; readonly highest: number }

const messagesOf = (log: Log, request: ReadRequest): Generator<streams.ReadResp, void> => {
  if (request.stream === undefined) return eventsIn(log.all, rangeOfAll(log, request), request)
  const stream = log.stream(request.stream)
  // A deleted stream is a missing one, until somebody writes to it again.
  return stream === undefined || stream.firstReadable >= stream.events.length
    ? notFound(request.stream)
    : eventsIn(stream.events, rangeOfStream(stream, request), request)
}

function* notFound(stream: string): Generator<streams.ReadResp, void> {
  yield streamNotFound(stream)
}

function* eventsIn(
  events: ReadonlyArray<LoggedEvent>,
  { lowest, highest }: Range,
  { isBackwards, count, filter }: ReadRequest,
): Generator<streams.ReadResp, void> {
  const matches = matcherOf(filter)
  let left = count
  for (let step = 0; step <= highest - lowest && left > 0; step += 1) {
    const event = events[isBackwards ? highest - step : lowest + step]
    if (event === undefined || !matches(event)) continue
    left -= 1
    yield eventRead(event)
  }
}

/** Forwards with the event at the position, backwards without it. */
const rangeOfAll = ({ all, indexAfter }: Log, { from, isBackwards }: ReadRequest): Range => {
  const last = all.length - 1
  const at = from === 'start' ? 0 : from === 'end' ? all.length : indexAfter(from - 1n)
  if (!isBackwards) return { lowest: at, highest: last }
  const isBeyond = typeof from === 'bigint' && at > last
  return { lowest: 0, highest: isBeyond ? -1 : at - 1 }
}

const rangeOfStream = ({ events, firstReadable }: Stream, { from, isBackwards }: ReadRequest): Range => {
  const last = events.length - 1
  const at = from === 'start' ? 0 : from === 'end' ? last : Number(from)
  return isBackwards
    ? { lowest: firstReadable, highest: Math.min(at, last) }
    : { lowest: Math.max(at, firstReadable), highest: last }
}
