import type { Aggregate, CausingEvent } from './aggregate.js'
import type { Decider } from './decider.js'
import type { AccountSecret, ServiceSecret } from './derived-id.js'
import type { Category, DomainEvent, RecordedEvent } from './events.js'
import type { Envelope, Position, Revision } from './event.js'
import type { Instant } from './instant.js'
import type { Either } from './prelude.js'

/**
 * What a store answers when it can't. `unavailable`: try again later, a write may have been done or not; with
 * `needsOperator` each try fails until somebody changes a setting or the server, such as a password. `corrupt`: trying
 * again gives the same, since what stands there can't be decoded, or what was to be written is refused for good.
 */
export type StoreFailure =
  | { readonly kind: 'unavailable'; readonly reason: string; readonly needsOperator?: true }
  | { readonly kind: 'corrupt'; readonly reason: string }

/** The stream is not where the writer thought. */
export type Conflict = { readonly kind: 'conflict' }

export type NewEvent = DomainEvent & Envelope

type StreamRead = { readonly events: ReadonlyArray<RecordedEvent>; readonly revision: Revision }

/** Where the last event of an append stands. */
export type Appended = { readonly revision: number; readonly position: Position }

/** Events in the order of the log, and how far the log has been looked at, which may lie beyond the last of them. */
export type EventBatch = { readonly events: ReadonlyArray<RecordedEvent>; readonly position: Position }

export type EventStore = {
  /**
   * The events of a stream, from the revision `from` on, at most `count` where it is given. The revision is that of the
   * last one; where there are none it is `no-stream`. However long a stream is, no call to a server grows with it.
   */
  readonly read: (stream: string, from?: number, count?: number) => Promise<Either<StoreFailure, StreamRead>>

  /** The newest events of a stream in their order, at most `count`. */
  readonly readLast: (stream: string, count: number) => Promise<Either<StoreFailure, ReadonlyArray<RecordedEvent>>>

  /**
   * Appends to one stream, all or nothing, durably: what was answered survives a power cut. The same event ids at the
   * same expected revision again write nothing, change nothing of what stands there and give the first answer. A repeat
   * can't be told from a first append. More than `largestAppend` is `corrupt`, in every store alike.
   */
  readonly append: (
    stream: string,
    expected: Revision,
    events: readonly [NewEvent, ...ReadonlyArray<NewEvent>],
  ) => Promise<Either<StoreFailure | Conflict, Appended>>

  /**
   * Everything in these categories after a position, in the order of the log: history, then live, without gap or
   * repeat, no faster than it is consumed. Positions become visible in their order: once one has been given, nothing
   * appears before it any more, so whoever saves it as a checkpoint misses nothing. Ends when `signal` aborts; throws
   * when the store fails.
   */
  readonly subscribe: (
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ) => AsyncIterable<EventBatch>

  /**
   * The history in these categories after a position, up to the end of the log as it is now. Throws when `signal`
   * aborts, so that a part never passes for the whole, and when the store fails.
   */
  readonly history: (
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ) => AsyncIterable<EventBatch>

  /**
   * Removes the events of a stream before the revision `before`, at which one must stand: from the answer on nobody is
   * given them here, neither `read` and `readLast` nor `history` and a subscription that begins later. A repeat changes
   * nothing. A server may keep their bytes until it is scavenged.
   */
  readonly truncate: (stream: string, before: number) => Promise<Either<StoreFailure, void>>

  /** Whether no byte of what was truncated is left in the files that this process keeps; tries to make it so. */
  readonly purge: () => Promise<Either<StoreFailure, boolean>>

  /** The position of the last event in the log. */
  readonly head: () => Promise<Either<StoreFailure, Position>>

  /**
   * When the newest event of ours happened, as far as the last hundred events of the log tell; undefined where there is
   * none.
   */
  readonly newestTime: () => Promise<Either<StoreFailure, Instant | undefined>>

  /** How far a follower of the log had come when that was last saved here; `beginning` where it never was. */
  readonly checkpoint: (follower: string) => Promise<Either<StoreFailure, Position>>

  /**
   * Saves how far a follower has come, never backward; a power cut may take the newest save away. It stands beside the
   * log and is no event of it: no history and no subscription gives it, though on a server the head may move.
   */
  readonly saveCheckpoint: (follower: string, position: Position) => Promise<Either<StoreFailure, void>>

  /**
   * What the difference of two positions counts: events, or bytes of the log, which may leap where it was scavenged.
   */
  readonly positionUnit: 'events' | 'bytes'
}

/** An append to one stream, as the arguments of `EventStore.append`. */
export type StreamAppend = {
  readonly stream: string
  readonly expected: Revision
  readonly events: readonly [NewEvent, ...ReadonlyArray<NewEvent>]
}

/**
 * Appends to several streams in this order, all or nothing, durably; a stream may come more than once. Gives the events
 * as they stand in the log. Only a store that one process writes to has it, and here a repeat is a conflict.
 */
export type AppendAll = (
  appends: ReadonlyArray<StreamAppend>,
) => Promise<Either<StoreFailure | Conflict, ReadonlyArray<RecordedEvent>>>

/** The log, for those who only read it. */
export type LogReader = Pick<EventStore, 'read' | 'history' | 'subscribe' | 'head'>

export type Clock = {
  readonly now: () => Instant
  /** Resolves at `instant` by this clock, at once when it has passed, and early when `signal` aborts. */
  readonly sleepUntil: (instant: Instant, signal: AbortSignal) => Promise<void>
}

/**
 * Milliseconds since an arbitrary start, which never go back, and waits by them. They mean nothing to another process.
 */
export type MonotonicClock = {
  readonly now: () => number
  /** Resolves early when `signal` aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** What the envelopes of new events are made from: who asks, what brought it about, and the ids that they get. */
export type EnvelopeFacts = {
  readonly actor: string
  /** The id of the event at `index` among those that the command appends. */
  readonly eventId: (index: number) => string
  /** The event that brought the command about, or the last one of the stream; undefined at the start of a chain. */
  readonly cause?: CausingEvent | 'last-of-stream'
  /**
   * The time that the events get where several may write the same ones, the same for all of them: that of what caused
   * them. Else it is when they are decided.
   */
  readonly at?: Instant
}

/**
 * The state after the command, and its events: those that it appended; none where it was already so; for a reaction
 * that runs again, those of the first time where they are recent. All events of one append carry the position of the
 * last, because a store tells no more.
 */
export type CommandResult<State> = { readonly state: State; readonly events: ReadonlyArray<RecordedEvent> }

/** Nothing was appended in four tries: others appended first, or one try rested on a wrong assumption. */
export type Contended = { readonly kind: 'contended' }

export type AnyCommand = { readonly type: string }

/** Executes commands: the one way in which events come about. */
export type CommandHandler = {
  /** The aggregate as it is now. */
  readonly load: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
  ) => Promise<Either<StoreFailure, Aggregate<State>>>

  /**
   * Decides on `assumed` first where it is given, which spares a read: the aggregate as it was loaded a moment ago, or
   * `newAggregate` where the command usually begins its stream. An assumption that is wrong costs a read and decides
   * nothing.
   */
  readonly execute: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
    envelope: EnvelopeFacts,
    assumed?: Aggregate<State>,
  ) => Promise<Either<Refusal | StoreFailure | Contended, CommandResult<State>>>
}

/** Fresh ids: letters for our own, UUIDs for events. */
export type Ids = {
  /** In the order of time, so that the next one can be guessed: never for what is a credential. */
  readonly ulid: () => string
  /** As long as a ULID, and all of its 128 bits are random. */
  readonly unguessable: () => string
  readonly uuid: () => string
  readonly secret: () => string
}

/** Keeps secrets unreadable at rest. */
export type Vault = {
  readonly seal: (plain: string) => string
  /** Left when the text was sealed with another key or was tampered with. */
  readonly open: (sealed: string) => Either<{ readonly kind: 'unsealable' }, string>
  /** The Standard Webhooks signature of a text, `v1,` before it, under sealed bytes in base64. */
  readonly sign: (sealed: string, text: string) => Either<{ readonly kind: 'unsealable' }, string>
  readonly accountSecret: (sealed: string) => Either<{ readonly kind: 'unsealable' }, AccountSecret>
  /** The same for as long as the key is. */
  readonly serviceSecret: ServiceSecret
}

/** Log lines carry ids, counts and reasons, never a personal value or a secret. */
export type Logger = {
  readonly [level in 'debug' | 'info' | 'warn' | 'error']: (
    fields: Readonly<Record<string, unknown>>,
    message: string,
  ) => void
}
