import { LRUCache } from 'lru-cache'
import { approximateBytes } from '../../domain/approximate-size.js'
import { fold, streamOf } from '../../domain/decider.js'
import type { EngagementState } from '../../domain/engagement.js'
import type { PlaybookId } from '../../domain/ids.js'
import { playbook, type PlaybookEvent, type PlaybookSettings } from '../../domain/playbook.js'
import type { CommandHandler, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { FailedForGood, loadOrThrow, readOrThrow } from '../subscriptions/retries/retried-command.js'

/** The settings that a playbook had at a version; undefined where it had none. */
export type PlaybookVersions = (
  id: PlaybookId,
  version: number,
) => Promise<Either<StoreFailure, PlaybookSettings | undefined>>

/** In bytes, about: settings may have a hundred thousand of them. */
const capacity = 4_000_000

/** A version never changes, so what was read of it stays good. */
export const playbookVersions = (store: Pick<EventStore, 'read'>): PlaybookVersions => {
  const known = new LRUCache<string, PlaybookSettings>({ maxSize: capacity, sizeCalculation: approximateBytes })
  return async (id, version) => {
    const key = `${id}/${version}`
    const found = known.get(key)
    if (found !== undefined) return E.right(found)
    const read = await store.read(streamOf(playbook, id), 0, version)
    if (E.isLeft(read)) return read
    const events = read.right.events as unknown as ReadonlyArray<PlaybookEvent>
    const state = fold(playbook, playbook.initial, events)
    if (state.kind !== 'created' || state.version !== version) return E.right(undefined)
    known.set(key, state.settings)
    return E.right(state.settings)
  }
}

/**
 * As they were when the engagement began; one that its playbook does not follow up goes by those of today.
 * @throws FailedForGood, and where the store fails
 */
export const settingsOf = async (
  { commandHandler, playbookAt }: { readonly commandHandler: CommandHandler; readonly playbookAt: PlaybookVersions },
  { attribution: { playbook_id: id }, followUp }: Started,
): Promise<PlaybookSettings> => {
  const stream = streamOf(playbook, id)
  const settings =
    followUp === undefined
      ? await settingsOfToday(commandHandler, id)
      : readOrThrow(stream, await playbookAt(id, followUp.playbookVersion))
  if (settings !== undefined) return settings
  throw new FailedForGood(stream, { kind: 'corrupt', reason: 'an engagement lacks its playbook' })
}

const settingsOfToday = async (
  commandHandler: CommandHandler,
  id: PlaybookId,
): Promise<PlaybookSettings | undefined> => {
  const { state } = await loadOrThrow(commandHandler, playbook, id)
  return state.kind === 'created' ? state.settings : undefined
}

type Started = Extract<EngagementState, { readonly kind: 'started' }>
