import { E, type Either } from '../../../domain/prelude.js'
import { UndecodableEvent } from '../../../domain/store-failed.js'
import { beyondHead, replay } from '../../analysis/replay.js'
import type { ReplayRequest } from '../../analysis/replay-request.js'
import type { Config } from '../../composition/config.js'
import { atOut } from '../run.js'
import { readingLog } from './log.js'
import { replayOutput, type ReplayFormat } from './replay-output.js'

type Output = { readonly format: ReplayFormat; readonly file: string | undefined }

/** Writes the events that were asked for. Left: one sentence that says why it stopped. */
export const replayTo = (
  config: Config,
  request: ReplayRequest,
  { format, file }: Output,
): Promise<Either<string, undefined>> =>
  readingLog(
    config,
    async (log, { head, signal, onPosition }) => {
      const refusal = beyondHead(request, head)
      if (refusal !== undefined) return E.left(`--${refusal}.`)
      const opened = await atOut(() => replayOutput(format, file, request.isFollowing))
      if (E.isLeft(opened)) return opened
      const output = opened.right
      try {
        for await (const { events, position } of replay(log, request, signal)) {
          await output.write(events)
          onPosition(position)
        }
      } catch (error) {
        // What comes before an event that can't be read is whole: the next replay goes on after that.
        const isWhole = error instanceof UndecodableEvent || (request.isFollowing && signal.aborted)
        await (isWhole ? output.end() : output.discard())
        throw error
      }
      await output.end()
      return E.right(undefined)
    },
    {
      isEndless: request.isFollowing,
      // A follower never arrives, and a bar would stand between the lines of a terminal.
      isBarSeen: !request.isFollowing && (file !== undefined || !process.stdout.isTTY),
      undecodable: (position) => ` --after ${position} goes on after it.`,
    },
  )
