import type { NewEvent } from './log.js'

/** The lines of EventStoreDB whose answers the double gives. */
export type Version = '23.10' | '24.10'

/** Where the two lines differ. */
export type Answers = {
  readonly fullVersion: string
  /** What an event takes of the largest append, in bytes. */
  readonly sizeOf: (event: NewEvent) => number
  /** What a read of the whole log says of a position where no event stands. */
  readonly noEventThere: string
  /**
   * The checkpoint with which a filtered subscription from the start of a fresh log goes live where it has found no
   * event of its own; undefined where none is sent.
   */
  readonly checkpointOfFreshLog: bigint | undefined
  /** How many events may wait for a live subscriber before it is dropped, rather than made to catch up once more. */
  readonly mayWait: number
}

/** How many events a server keeps for a live subscriber. */
export const liveBuffer = 32

export const answersOf: Readonly<Record<Version, Answers>> = {
  '23.10': {
    fullVersion: '23.10.6',
    sizeOf: ({ data }) => data.length,
    noEventThere: 'Unexpected ReadAllResult: Error',
    checkpointOfFreshLog: undefined,
    mayWait: liveBuffer,
  },
  '24.10': {
    fullVersion: '24.10.4',
    sizeOf: ({ type, data, metadata }) => data.length + metadata.length + 2 * type.length,
    noEventThere: 'Unexpected ReadAllResult: InvalidPosition',
    checkpointOfFreshLog: 2n ** 64n - 1n,
    mayWait: Number.POSITIVE_INFINITY,
  },
}
