import { constants, setPriority } from 'node:os'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { openLogReader } from '../../../adapters/sqlite/log-reader.js'
import type { Position } from '../../../domain/event.js'
import type { LogReader } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow, UndecodableEvent } from '../../../domain/store-failed.js'
import type { Config } from '../../composition/config.js'
import { logServer } from '../../composition/stores.js'
import { lateProgressBar } from '../progress.js'
import { toldReason } from '../run.js'

type OpenLog = { readonly log: LogReader; readonly close: () => Promise<void> }

/** The log that the settings name, to be read beside a service that runs or does not. Left: one sentence. */
export const openLog = async ({ dataDir, eventStoreUrl }: Config): Promise<Either<string, OpenLog>> => {
  if (eventStoreUrl === undefined) {
    const opened = openLogReader(dataDir, monotonicClock)
    return E.isLeft(opened) ? E.left(`DATA_DIR: ${opened.left.reason}.`) : opened
  }
  const server = await logServer(eventStoreUrl)
  if (E.isLeft(server)) return server
  const { store } = server.right
  return E.right({ log: store, close: store.close })
}

/** `signal` aborts when the process is told to end; whoever calls `onPosition` says how far he has come. */
type Reading = {
  /** Where the log ended when it was opened. */
  readonly head: Position
  readonly signal: AbortSignal
  readonly onPosition: (position: Position) => void
}

type Options = {
  /** It computes for long, and gives way to a service on this machine. */
  readonly isBackground?: boolean
  /** It goes on until it is told to end, which is no failure then. */
  readonly isEndless?: boolean
  readonly isBarSeen?: boolean
  /** What to do where an event can't be decoded. */
  readonly undecodable?: (position: Position) => string
}

/** In milliseconds: npm passes on a signal that the terminal sends to all, so within this it is one and the same. */
const sameSignal = 1_000

/** Aborts at a signal. One that comes later ends the process at once, whatever is not done by then. */
const abortAtSignal = (stopping: AbortController): void => {
  const signals = ['SIGINT', 'SIGTERM'] as const
  const listenNoMore = (): void => {
    for (const signal of signals) process.off(signal, abort)
  }
  const abort = (): void => {
    stopping.abort()
    setTimeout(listenNoMore, sameSignal).unref()
  }
  for (const signal of signals) process.on(signal, abort)
}

/** Lets `work` read the log that the settings name. Left: one sentence that says why it stopped. */
export const readingLog = async (
  config: Config,
  work: (log: LogReader, reading: Reading) => Promise<Either<string, undefined>>,
  { isBackground = false, isEndless = false, isBarSeen = true, undecodable = () => '' }: Options = {},
): Promise<Either<string, undefined>> => {
  if (isBackground) setPriority(constants.priority.PRIORITY_LOW)
  const opened = await openLog(config)
  if (E.isLeft(opened)) return opened
  const { log, close } = opened.right
  const stopping = new AbortController()
  abortAtSignal(stopping)
  try {
    const head = orThrow(await log.head())
    const bar = isBarSeen ? lateProgressBar(Number(head)) : undefined
    try {
      return await work(log, { head, signal: stopping.signal, onPosition: (position) => bar?.update(Number(position)) })
    } finally {
      bar?.stop()
    }
  } catch (error) {
    if (stopping.signal.aborted) return isEndless ? E.right(undefined) : E.left('It was stopped.')
    if (!(error instanceof UndecodableEvent)) return E.left(`${toldReason(error)}.`)
    const { position, failure } = error.entry
    return E.left(
      `At position ${position} stands an event that can't be read: ${failure.reason}.${undecodable(position)}`,
    )
  } finally {
    await close()
  }
}
