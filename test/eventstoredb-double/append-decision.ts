import type { Expected } from './expected.js'
import type { Log, LoggedEvent, NewEvent, Stream } from './log.js'
import type { Answers } from './version.js'

export type AppendRequest = {
  readonly stream: string
  readonly expected: Expected
  readonly events: ReadonlyArray<NewEvent>
  /** Milliseconds since 1970 after which it is too late to write. */
  readonly deadline: number
}

export type AppendResult =
  | {
      readonly kind: 'done'
      /** The last revision that the request stands for; undefined while the stream is missing. */
      readonly revision: number | undefined
      /** Undefined when nothing was written and the event that stands there can't be read. */
      readonly position: bigint | undefined
    }
  | { readonly kind: 'wrong-version'; readonly actual: number | undefined }
  | { readonly kind: 'stream-deleted' }
  | { readonly kind: 'bad-request'; readonly message: string }
  | { readonly kind: 'too-big' }
  | { readonly kind: 'too-late' }

/** In bytes, over all events of one append. */
export const maxAppendSize = 1024 * 1024

/** Checks an append and writes it if it is new: the same events at the same expected revision are written once. */
export const append = (log: Log, answers: Answers, request: AppendRequest, now: number): AppendResult => {
  const refused = refusalOf(answers, request, now)
  if (refused !== undefined) return refused
  const stream = log.stream(request.stream) ?? missing
  const decided = decide(log, stream, request)
  if (decided !== 'write') return decided
  // A real server writes a record without an event for an empty append, which nobody sees either.
  if (request.events.length === 0) return { kind: 'done', revision: lastOf(stream), position: undefined }
  const last = log.append(request.stream, request.events).at(-1)
  return { kind: 'done', revision: last?.revision, position: last?.position }
}

const missing: Stream = { events: [], firstReadable: 0, deletion: 'none' }

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const refusalOf = (
  { sizeOf }: Answers,
  { stream, events, deadline }: AppendRequest,
  now: number,
): AppendResult | undefined => {
  // To an id or a type that it refuses a real server answers a second time after 2.3 s, which kills the process of
  // this client: one answer is enough to show a test what it did wrong.
  if (stream === '') return { kind: 'bad-request', message: 'the stream has no name' }
  if (events.some(({ id }) => !uuid.test(id))) return { kind: 'bad-request', message: 'an id is no UUID' }
  if (events.some(({ type }) => type === '')) return { kind: 'bad-request', message: 'a type is empty' }
  const size = events.reduce((sum, event) => sum + sizeOf(event), 0)
  if (size > maxAppendSize) return { kind: 'too-big' }
  if (now > deadline) return { kind: 'too-late' }
  return undefined
}

/** What the index of a server decides, in its order. */
const decide = (
  log: Log,
  stream: Stream,
  { stream: name, expected, events }: AppendRequest,
): AppendResult | 'write' => {
  const last = stream.events.length - 1
  const wrong: AppendResult = { kind: 'wrong-version', actual: lastOf(stream) }
  if (stream.deletion === 'tombstone') return { kind: 'stream-deleted' }
  if (expected === 'stream-exists') {
    if (stream.deletion === 'soft') return { kind: 'stream-deleted' }
    if (last < 0) return wrong
  }
  if (expected === 'any' || expected === 'stream-exists') {
    // A real server finds ids so only while they are among its recent ones: here all are.
    const known = events
      .map(({ id }) => log.lastWithId(id))
      .map((event) => (event?.stream === name ? event : undefined))
    if (known[0] === undefined) return 'write'
    return known.includes(undefined) ? wrong : repeated(stream, known.at(-1))
  }
  const before = expected === 'no-stream' ? -1 : expected
  if (before === last) return 'write'
  if (before > last || events.length === 0) return wrong
  const standing = events.map(({ id }, index) => stream.events[before + 1 + index]?.id === id)
  if (standing.every((isSame) => isSame)) return repeated(stream, stream.events[before + events.length])
  return before === -1 && stream.deletion === 'soft' && standing[0] !== true ? 'write' : wrong
}

const lastOf = ({ events }: Stream): number | undefined => (events.length === 0 ? undefined : events.length - 1)

const repeated = ({ firstReadable }: Stream, last: LoggedEvent | undefined): AppendResult => ({
  kind: 'done',
  revision: last?.revision,
  position: last !== undefined && last.revision >= firstReadable ? last.position : undefined,
})
