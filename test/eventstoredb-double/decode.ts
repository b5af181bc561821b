import type shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { AppendRequest } from './append-decision.js'
import type { Expected } from './expected.js'
import type { NewEvent } from './log.js'

const streamNameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')

/** Ids are text: the client at hand sends no others. */
export const idOf = (id: shared.UUID | undefined): string => id?.getString().toLowerCase() ?? ''

/** Numbers are text on the wire: no stream comes near those that a double would round. */
const numberOf = (uint64: string): number => Math.min(Number(uint64), Number.MAX_SAFE_INTEGER)

type Proposed = streams.BatchAppendReq.ProposedMessage | streams.AppendReq.ProposedMessage

const newEvent = (message: Proposed): NewEvent => {
  const metadata = message.getMetadataMap()
  return {
    id: idOf(message.getId()),
    type: metadata.get('type') ?? '',
    isJson: metadata.get('content-type') === 'application/json',
    data: bufferOf(message.getData_asU8()),
    metadata: bufferOf(message.getCustomMetadata_asU8()),
  }
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

type Expectation = {
  readonly hasNoStream: () => boolean
  readonly hasAny: () => boolean
  readonly hasStreamExists?: () => boolean
}

const expectedOf = (options: Expectation, revision: string): Expected => {
  if (options.hasAny()) return 'any'
  if (options.hasNoStream()) return 'no-stream'
  return options.hasStreamExists?.() === true ? 'stream-exists' : numberOf(revision)
}

/** An append that came in one or more messages, of which the first has the options. */
export const batchAppendRequest = (
  options: streams.BatchAppendReq.Options,
  messages: ReadonlyArray<streams.BatchAppendReq.ProposedMessage>,
): AppendRequest => ({
  stream: streamNameOf(options.getStreamIdentifier()),
  expected: expectedOf(options, options.getStreamPosition()),
  events: messages.map(newEvent),
  deadline: options.getDeadline()?.toDate().getTime() ?? Number.POSITIVE_INFINITY,
})

/** An append without a deadline of its own: that is the call's. */
export const appendRequest = (
  options: streams.AppendReq.Options,
  messages: ReadonlyArray<streams.AppendReq.ProposedMessage>,
): AppendRequest => ({
  stream: streamNameOf(options.getStreamIdentifier()),
  expected: expectedOf(options, options.getRevision()),
  events: messages.map(newEvent),
  deadline: Number.POSITIVE_INFINITY,
})

export type DeleteRequest = { readonly stream: string; readonly expected: Expected }

export const deleteRequest = (
  options: streams.DeleteReq.Options | streams.TombstoneReq.Options = new streams.DeleteReq.Options(),
): DeleteRequest => ({
  stream: streamNameOf(options.getStreamIdentifier()),
  expected: expectedOf(options, options.getRevision()),
})

/** Where a read or a subscription begins: at an end of the log, or at a revision or position. */
type From = 'start' | 'end' | bigint

export type FilterOptions = {
  readonly on: 'stream' | 'type'
  readonly prefixes: ReadonlyArray<string>
  readonly regex: string
  /** A subscription says where it is after so many events, whether they match or not. */
  readonly checkpointInterval: number
}

export type ReadRequest = {
  /** Undefined for the whole log. */
  readonly stream: string | undefined
  readonly from: From
  readonly isBackwards: boolean
  readonly count: number
  readonly filter: FilterOptions | undefined
}

/** The window of a filter that names none. */
const defaultWindow = 32

export const readRequest = (options: streams.ReadReq.Options): ReadRequest => {
  const stream = options.getStream()
  const filter = options.getFilter()
  return {
    stream: stream === undefined ? undefined : streamNameOf(stream.getStreamIdentifier()),
    from: stream === undefined ? positionOf(options.getAll()) : revisionOf(stream),
    isBackwards: options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS,
    count: numberOf(options.getCount()),
    filter: filter === undefined ? undefined : filterOptions(filter),
  }
}

const revisionOf = (options: streams.ReadReq.Options.StreamOptions): From => {
  if (options.hasRevision()) return BigInt(options.getRevision())
  return options.hasEnd() ? 'end' : 'start'
}

const positionOf = (options: streams.ReadReq.Options.AllOptions | undefined): From => {
  const position = options?.getPosition()
  if (position !== undefined) return BigInt(position.getCommitPosition())
  return options?.hasEnd() === true ? 'end' : 'start'
}

const filterOptions = (filter: streams.ReadReq.Options.FilterOptions): FilterOptions => {
  const expression = filter.getStreamIdentifier() ?? filter.getEventType()
  const window = filter.hasMax() ? filter.getMax() : defaultWindow
  return {
    on: filter.hasStreamIdentifier() ? 'stream' : 'type',
    prefixes: expression?.getPrefixList() ?? [],
    regex: expression?.getRegex() ?? '',
    checkpointInterval: window * Math.max(1, filter.getCheckpointintervalmultiplier()),
  }
}
