/** The messages between the main thread and the writing thread: plain values that a message can carry. */

export type EventRow = readonly [
  id: string,
  type: string,
  time: string,
  correlationId: string,
  causationId: string,
  schemaVersion: number,
  actor: string,
  data: string,
]

/** `expected` and revisions: -1 stands for no stream. */
export type AppendWrite = {
  readonly kind: 'append'
  readonly stream: string
  readonly category: string
  readonly expected: number
  readonly events: ReadonlyArray<EventRow>
}

/** All or none of them. Each stream must stand where its append expects it, and a repeat is a conflict. */
export type AppendAllWrite = { readonly kind: 'append-all'; readonly appends: ReadonlyArray<AppendWrite> }

/** How far a follower of the log has come: it moves forward only. */
export type CheckpointWrite = { readonly kind: 'checkpoint'; readonly follower: string; readonly position: number }

/** Removes the events of a stream before a revision, at which one must stand. */
export type TruncateWrite = { readonly kind: 'truncate'; readonly stream: string; readonly before: number }

/** Empties the write-ahead log, which may hold what was removed. */
type PurgeWrite = { readonly kind: 'purge' }

/** A row: key, position, body (null: removed), then the indexed fields in the order of `columns`. */
export type DocumentRow = ReadonlyArray<string | number | null>

export type ApplyWrite = {
  readonly kind: 'apply'
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<DocumentRow>
  readonly checkpoint: number
}

/** Statements that change the schema, in one transaction with whatever else is written. */
type SchemaWrite = { readonly kind: 'schema'; readonly statements: ReadonlyArray<string> }

export type Write =
  AppendWrite | AppendAllWrite | CheckpointWrite | TruncateWrite | PurgeWrite | ApplyWrite | SchemaWrite

export type WriteResult =
  /** Where the last of the events stands; `repeated`: they were there already. */
  | {
      readonly kind: 'appended' | 'repeated'
      readonly position: number
      readonly revision: number
    }
  /** `position`: of the last event of all. */
  | { readonly kind: 'all-appended'; readonly position: number }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'done' }
  /** Events were removed. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'purged'; readonly isEmpty: boolean }
  /** Nothing was written; `code` is the driver's. */
  | { readonly kind: 'failed'; readonly code: string }

export type WriterMessage =
  /** Before `ready`, where an older version wrote the file: it takes as long as the file is large. */
  | { readonly kind: 'rewriting' }
  | { readonly kind: 'ready' }
  /** The thread could not open the file. */
  | { readonly kind: 'unusable'; readonly code: string }
  /** One for each write, in the order in which they were sent. */
  | { readonly kind: 'results'; readonly results: ReadonlyArray<WriteResult> }
