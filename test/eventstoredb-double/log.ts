import { randomUUID } from 'node:crypto'

/** An event as it stands in the log. */
export type LoggedEvent = {
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly data: Buffer
  readonly metadata: Buffer
  readonly isJson: boolean
  /** Milliseconds since 1970. */
  readonly created: number
  /** Commit and prepare position at once: for what is written by gRPC they are the same. */
  readonly position: bigint
}

export type NewEvent = Pick<LoggedEvent, 'id' | 'type' | 'data' | 'metadata' | 'isJson'>

export type Stream = {
  /** By revision, with those before `firstReadable`: a deletion takes nothing out of the log. */
  readonly events: ReadonlyArray<LoggedEvent>
  readonly firstReadable: number
  readonly deletion: 'none' | 'soft' | 'tombstone'
}

export type Log = {
  /** The events of all streams, in the order of their positions. A scavenge leaves them to whoever still reads them. */
  readonly all: ReadonlyArray<LoggedEvent>
  /** Undefined before the first event of the stream. */
  readonly stream: (name: string) => Stream | undefined
  /** The last event that was written with this id, in whatever stream. */
  readonly lastWithId: (id: string) => LoggedEvent | undefined
  /** Where in `all` the events after a position begin. */
  readonly indexAfter: (position: bigint) => number
  /** Writes at the end of a stream that has no tombstone, and gives what now stands there. */
  readonly append: (stream: string, events: ReadonlyArray<NewEvent>) => ReadonlyArray<LoggedEvent>
  /** Makes unreadable what is in the stream; its revisions go on counting. Gives the position of the deletion. */
  readonly delete: (stream: string) => bigint
  /** Ends the stream for ever. Gives the position of the tombstone. */
  readonly tombstone: (stream: string) => bigint
  /**
   * Takes out what can't be read any more: of a stream its last event stays, unless a tombstone stands for it. The
   * chunk is closed, so the next position leaps.
   */
  readonly scavenge: () => void
  /** Whether any byte of what it keeps is of this text: names, types, data and metadata, the system's too. */
  readonly holds: (text: string) => boolean
  /**
   * Where the last scavenge ended: from any position before that a read goes on, since an event that is gone may have
   * stood there.
   */
  readonly scavengedTo: () => bigint
  /** Calls back after each write, until the function that it gives is called. */
  readonly onWritten: (listener: () => void) => () => void
}

/** The system writes for itself, to streams and of types that begin so. */
export const isSystemEvent = ({ stream, type }: LoggedEvent): boolean => stream.startsWith('$') || type.startsWith('$')

type MutableStream = {
  readonly events: Array<LoggedEvent>
  firstReadable: number
  /** The `$maxCount` of its metadata. */
  maxCount: number
  deletion: Stream['deletion']
}

/** A new database begins with records that are no events, so that no event stands at 0. */
const firstPosition = 366

/** A scavenge closes the current chunk, and goes on in the next one. */
const chunkSize = 268_435_456

/** The bytes of a record besides its names and contents. */
const recordFrame = 92

/** The revision of a tombstone, and the `$tb` of a stream of which all is deleted. */
const lastRevision = Number.MAX_SAFE_INTEGER

/** A log in memory, with the events of the system that a new database begins with. */
export const openLog = (): Log => {
  let all: Array<LoggedEvent> = []
  const streams = new Map<string, MutableStream>()
  const byId = new Map<string, LoggedEvent>()
  const listeners = new Set<() => void>()
  let end = firstPosition
  let scavengedTo = 0n

  const record = (stream: string, revision: number, event: NewEvent): LoggedEvent => {
    const logged = { ...event, stream, revision, created: Date.now(), position: BigInt(end) }
    end += recordFrame + 2 * (stream.length + event.type.length) + event.data.length + event.metadata.length
    all.push(logged)
    byId.set(event.id, logged)
    return logged
  }

  const openStream = (name: string): MutableStream => {
    const known = streams.get(name)
    if (known !== undefined) return known
    const opened: MutableStream = { events: [], firstReadable: 0, maxCount: Infinity, deletion: 'none' }
    streams.set(name, opened)
    return opened
  }

  const write = (name: string, events: ReadonlyArray<NewEvent>): ReadonlyArray<LoggedEvent> => {
    const stream = openStream(name)
    return events.map((event) => {
      const logged = record(name, stream.events.length, event)
      stream.events.push(logged)
      return logged
    })
  }

  const truncate = (name: string, stream: MutableStream, before: number): bigint => {
    stream.firstReadable = before
    const [metadata] = write(`$$${name}`, [systemEvent('$metadata', { $tb: before })])
    return metadata?.position ?? 0n
  }

  const tell = (): void => {
    for (const listener of listeners) listener()
  }

  for (const [stream, type, data] of beginning) write(stream, [systemEvent(type, data)])

  return {
    get all() {
      return all
    },
    stream: (name) => streams.get(name),
    lastWithId: (id) => byId.get(id),
    indexAfter: (position) => indexAfter(all, position),
    append: (name, events) => {
      const stream = openStream(name)
      if (stream.deletion === 'soft') {
        truncate(name, stream, stream.events.length)
        stream.deletion = 'none'
      }
      const logged = write(name, events)
      if (name.startsWith('$$')) applyMetadata(openStream(name.slice(2)), events)
      stream.firstReadable = Math.max(stream.firstReadable, stream.events.length - stream.maxCount)
      tell()
      return logged
    },
    delete: (name) => {
      const stream = openStream(name)
      stream.deletion = 'soft'
      const position = truncate(name, stream, lastRevision)
      tell()
      return position
    },
    tombstone: (name) => {
      openStream(name).deletion = 'tombstone'
      const { position } = record(name, lastRevision, systemEvent('$streamDeleted', {}))
      tell()
      return position
    },
    scavenge: () => {
      const left = new Set(all.filter((event) => isKept(streams.get(event.stream), event)))
      for (const event of all) if (!left.has(event) && byId.get(event.id) === event) byId.delete(event.id)
      all = [...left]
      for (const { events } of streams.values())
        for (const [index, event] of events.entries())
          if (!left.has(event)) events[index] = { ...event, data: Buffer.alloc(0), metadata: Buffer.alloc(0) }
      end = Math.ceil(end / chunkSize) * chunkSize
      scavengedTo = BigInt(end)
    },
    holds: (text) => {
      const kept = [...all, ...byId.values(), ...[...streams.values()].flatMap(({ events }) => events)]
      return kept.some((event) =>
        [event.stream, event.type, event.data, event.metadata].some((bytes) => bytes.includes(text)),
      )
    },
    scavengedTo: () => scavengedTo,
    onWritten: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Of metadata the newest alone counts. */
const isKept = (stream: MutableStream | undefined, { revision, stream: name, type }: LoggedEvent): boolean => {
  if (stream === undefined || type === '$streamDeleted') return true
  if (stream.deletion === 'tombstone') return false
  const isLast = revision === stream.events.length - 1
  return isLast || (revision >= stream.firstReadable && !name.startsWith('$$'))
}

type Metadata = { readonly $maxCount?: number; readonly $tb?: number }

/** Metadata replaces what the stream had before. */
const applyMetadata = (stream: MutableStream, metadata: ReadonlyArray<NewEvent>): void => {
  const newest = metadata.at(-1)
  const { $maxCount = Infinity, $tb = 0 } = newest === undefined ? {} : (JSON.parse(newest.data.toString()) as Metadata)
  stream.maxCount = $maxCount
  stream.firstReadable = Math.max($tb, stream.events.length - $maxCount)
}

const indexAfter = (events: ReadonlyArray<LoggedEvent>, position: bigint): number => {
  let from = 0
  let to = events.length
  while (from < to) {
    const middle = (from + to) >>> 1
    const event = events[middle]
    if (event !== undefined && event.position <= position) from = middle + 1
    else to = middle
  }
  return from
}

const systemEvent = (type: string, data: unknown): NewEvent => ({
  id: randomUUID(),
  type,
  data: Buffer.from(JSON.stringify(data)),
  metadata: Buffer.alloc(0),
  isJson: true,
})

const beginning = [
  ['$$$stats-127.0.0.1:2113', '$metadata', { $maxAge: 86_400 }],
  ['$user-admin', '$UserCreated', { loginName: 'admin', fullName: 'EventStore Administrator', groups: ['$admins'] }],
  ['$$$user-admin', '$metadata', { $acl: { $r: '$admins' } }],
  ['$users', '$User', 'admin'],
] as const
