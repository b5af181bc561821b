import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { randomUUID } from 'node:crypto'
import type { ReadRequest } from './decode.js'
import { caughtUp, checkpoint, confirmation, eventRead } from './encode-reads.js'
import { matcherOf, type Matches } from './filter.js'
import type { Log, LoggedEvent } from './log.js'
import { streamMessages, type MessageStream, type ReadCall } from './flow-control.js'
import { isInLog } from './reads.js'
import type { Served } from './served.js'
import { liveBuffer, type Answers } from './version.js'
import { streamDeleted, tooSlow, unavailable, unexpectedRead } from './statuses.js'

/** Follows a stream or the whole log. What becomes of a reader that is too slow while live depends on the version. */
export const subscribe = (served: Served, call: ReadCall, request: ReadRequest): void => {
  const { log, answers, faults, count } = served
  if (request.stream === undefined && !isInLog(log, request.from)) {
    call.emit('error', unexpectedRead(answers.noEventThere))
    return
  }
  if (request.stream !== undefined && log.stream(request.stream)?.deletion === 'tombstone') {
    call.emit('error', streamDeleted(request.stream))
    return
  }
  const cursor = request.stream === undefined ? cursorOfAll(log, request) : cursorOfStream(log, request.stream, request)
  let delivered = 0

  const cutWhenDue = (message: streams.ReadResp, end: MessageStream['end']): void => {
    if (!message.hasEvent()) return
    delivered += 1
    const cut = faults.cutAfter(delivered)
    if (cut === undefined) return
    count('cuts')
    end(cut === 'cleanly' ? undefined : unavailable())
  }
  const stream = streamMessages(
    call,
    faults,
    messagesOf(cursor, answers, request.filter?.checkpointInterval),
    cutWhenDue,
  )

  const forget = log.onWritten(() => {
    if (faults.areSubscriptionsMute()) return
    const isSlow = cursor.isLive && stream.isBlocked()
    if (isSlow && waitsMoreThan(cursor, faults.mayWait())) {
      count('cuts')
      stream.end(tooSlow())
    } else {
      if (isSlow && waitsMoreThan(cursor, liveBuffer)) cursor.isLive = false
      stream.resume()
    }
  })
  call.once('cancelled', forget)
  call.once('finish', forget)
}

/** Where a subscription is. */
type Cursor = {
  /** The next event, or the one that comes so many after it. */
  readonly at: (ahead: number) => LoggedEvent | undefined
  readonly pass: (event: LoggedEvent) => void
  readonly matches: Matches
  position: bigint
  isLive: boolean
  /** Whether it began with the log and has given neither an event nor a checkpoint. */
  hasGivenNothing: boolean
}

const cursorOfAll = (log: Log, { from, filter }: ReadRequest): Cursor => {
  const head = log.all.at(-1)?.position ?? 0n
  const position = from === 'start' ? 0n : from === 'end' ? head : from
  const cursor: Cursor = {
    // By its position, each time: a scavenge takes events out before it.
    at: (ahead) => log.all[log.indexAfter(cursor.position) + ahead],
    pass: (event) => {
      cursor.position = event.position
    },
    matches: matcherOf(filter),
    position,
    isLive: false,
    hasGivenNothing: from === 'start',
  }
  return cursor
}

const cursorOfStream = (log: Log, name: string, { from }: ReadRequest): Cursor => {
  const last = (log.stream(name)?.events.length ?? 0) - 1
  let index = from === 'start' ? 0 : from === 'end' ? last + 1 : Number(from) + 1
  const cursor: Cursor = {
    at: (ahead) => log.stream(name)?.events[index + ahead],
    pass: (event) => {
      index += 1
      cursor.position = event.position
    },
    matches: ({ revision }) => revision >= (log.stream(name)?.firstReadable ?? 0),
    position: 0n,
    isLive: false,
    hasGivenNothing: false,
  }
  return cursor
}

function* messagesOf(
  cursor: Cursor,
  { checkpointOfFreshLog }: Answers,
  checkpointInterval: number | undefined,
): Generator<streams.ReadResp | undefined, void> {
  yield confirmation(randomUUID())
  let considered = 0
  for (;;) {
    const event = cursor.at(0)
    if (event === undefined && cursor.isLive) {
      yield undefined
    } else if (event === undefined) {
      cursor.isLive = true
      const reached = cursor.hasGivenNothing ? checkpointOfFreshLog : cursor.position
      if (checkpointInterval !== undefined && reached !== undefined) yield checkpoint(reached)
      yield caughtUp()
    } else {
      cursor.pass(event)
      considered += 1
      if (cursor.matches(event)) {
        cursor.hasGivenNothing = false
        yield eventRead(event)
      }
      if (checkpointInterval !== undefined && considered >= checkpointInterval) {
        considered = 0
        cursor.hasGivenNothing = false
        yield checkpoint(event.position)
      }
    }
  }
}

const waitsMoreThan = ({ at, matches }: Cursor, limit: number): boolean => {
  if (limit === Number.POSITIVE_INFINITY) return false
  let waiting = 0
  for (let ahead = 0; waiting <= limit; ahead += 1) {
    const event = at(ahead)
    if (event === undefined) return false
    if (matches(event)) waiting += 1
  }
  return true
}
