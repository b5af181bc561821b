import { parkedEventIdOf } from '../../domain/derived-id.js'
import type { ParkedEventId } from '../../domain/ids.js'
import type { CommandHandler, EventStore, Logger } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { StoreFailed } from '../../domain/store-failed.js'
import { parking } from './parking.js'

type Ports = {
  readonly store: Pick<EventStore, 'read' | 'readLast'>
  readonly commandHandler: CommandHandler
  readonly logger: Logger
}

/**
 * Parks the newest event of a stream whose work failed for good, under the process manager that made the work. Undefined where
 * nothing can be told of the stream: then the log line is all there is.
 * @throws `error` where trying again may help
 */
export const parkWork = async (
  { name, actor }: { readonly name: string; readonly actor: string },
  stream: string,
  error: unknown,
  ports: Ports,
): Promise<ParkedEventId | undefined> => {
  if (!(error instanceof StoreFailed) || error.kind !== 'corrupt') throw error
  const failure = { kind: 'corrupt', reason: error.message } as const
  ports.logger.error({ stream, reason: failure.reason }, 'work failed for good and is set aside')
  const last = await ports.store.readLast(stream, 1)
  const event = E.isRight(last) ? last.right[0] : undefined
  if (event === undefined) return undefined
  try {
    await parking({ name, actor, work: () => Promise.resolve() }, ports).skip({ ...event, failure })
  } catch {
    return undefined
  }
  return parkedEventIdOf(name, event.id)
}
