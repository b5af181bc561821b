import { E, type Either } from '../../../domain/prelude.js'
import { orThrow, UndecodableEvent } from '../../../domain/store-failed.js'
import { reasonOf } from '../../../projections/subscriptions/failure-reason.js'
import { replay, type ReplayRequest } from '../../analysis/replay.js'
import type { Config } from '../../composition/config.js'
import { openLog } from './log.js'
import { lateProgressBar } from '../progress.js'
import { replayOutput, type ReplayFormat } from './replay-output.js'

type Output = { readonly format: ReplayFormat; readonly file: string | undefined }

/** Writes the events that were asked for. Left: one sentence that says why it stopped. */
export const replayTo = async (
  config: Config,
  request: ReplayRequest,
  { format, file }: Output,
): Promise<Either<string, undefined>> => {
  const opened = await openLog(config)
  if (E.isLeft(opened)) return opened
  const { log, close } = opened.right
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort())
  process.once('SIGTERM', () => stopping.abort())
  try {
    const head = Number(orThrow(await log.head()))
    // A follower never arrives, and a bar would stand between the lines of a terminal.
    const isBarSeen = !request.isFollowing && (file !== undefined || !process.stdout.isTTY)
    const bar = isBarSeen ? lateProgressBar(head) : undefined
    const output = replayOutput(format, file)
    let isWhole = false
    try {
      for await (const { events, position } of replay(log, request, stopping.signal)) {
        await output.write(events)
        bar?.update(Number(position))
      }
      isWhole = true
    } finally {
      bar?.stop()
      // What was followed until somebody stopped it is whole, too.
      await (isWhole || (request.isFollowing && stopping.signal.aborted) ? output.end() : output.discard())
    }
    return E.right(undefined)
  } catch (error) {
    if (stopping.signal.aborted) return request.isFollowing ? E.right(undefined) : E.left('It was stopped.')
    return E.left(sentenceOf(error))
  } finally {
    await close()
  }
}

const sentenceOf = (error: unknown): string =>
  error instanceof UndecodableEvent
    ? `At position ${error.entry.position} stands an event that can't be read: ${error.message}. --after ${error.entry.position} goes on behind it.`
    : `${reasonOf(error)}.`
