import { LRUCache } from 'lru-cache'
import { approximateBytes } from '../../domain/approximate-size.js'
import { fold, streamOf } from '../../domain/decider.js'
import type { EngagementState } from '../../domain/engagement.js'
import type { PlaybookId } from '../../domain/ids.js'
import { playbook, type PlaybookEvent, type PlaybookSettings } from '../../domain/playbook.js'
import type { CommandHandler, EventStore } from '../../domain/ports.js'
import { FailedForGood, loadOrThrow, readOrThrow } from '../subscriptions/retries/retried-command.js'

/** The settings that a playbook had at a version. @throws FailedForGood, and where the store fails */
export type PlaybookVersions = (id: PlaybookId, version: number) => Promise<PlaybookSettings | undefined>

/** In bytes, about: settings may have a hundred thousand of them. */
const capacity = 4_000_000

/** A version never changes, so what was read of it stays good. */
export const playbookVersions = (store: Pick<EventStore, 'read'>): PlaybookVersions => {
  const known = new LRUCache<string, PlaybookSettings>({ maxSize: capacity, sizeCalculation: approximateBytes })
  return async (id, version) => {
    const key = `${id}/${version}`
    const found = known.get(key)
    if (found !== undefined) return found
    const stream = streamOf(playbook, id)
    const { events } = readOrThrow(stream, await store.read(stream, 0, version))
    const state = fold(playbook, playbook.initial, events as unknown as ReadonlyArray<PlaybookEvent>)
    if (state.kind !== 'created' || state.version !== version) return undefined
    known.set(key, state.settings)
    return state.settings
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
  const settings =
    followUp === undefined ? await settingsOfToday(commandHandler, id) : await playbookAt(id, followUp.playbookVersion)
  if (settings !== undefined) return settings
  throw new FailedForGood(streamOf(playbook, id), { kind: 'corrupt', reason: 'an engagement lacks its playbook' })
}

const settingsOfToday = async (
  commandHandler: CommandHandler,
  id: PlaybookId,
): Promise<PlaybookSettings | undefined> => {
  const { state } = await loadOrThrow(commandHandler, playbook, id)
  return state.kind === 'created' ? state.settings : undefined
}

type Started = Extract<EngagementState, { readonly kind: 'started' }>
