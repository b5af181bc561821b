import { LRUCache } from 'lru-cache'
import { foldStream } from '../../domain/aggregate.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import type { StartedEngagement } from '../../domain/engagement.js'
import type { PlaybookId } from '../../domain/ids.js'
import { playbook } from '../../domain/playbook.js'
import type { PlaybookSettings } from '../../domain/playbook-settings.js'
import type { CommandHandler, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { streamOf } from '../../domain/stream-name.js'

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
    // Each event makes a version, but that `PlaybookUsed` stands among them once.
    const read = await store.read(streamOf(playbook, id), 0, version + 1)
    if (E.isLeft(read)) return read
    let state = playbook.initial
    for (const event of read.right.events) {
      state = foldStream(playbook, [event], state)
      if (state.kind !== 'created' || state.version !== version) continue
      known.set(key, state.settings)
      return E.right(state.settings)
    }
    return E.right(undefined)
  }
}

type SettingsPorts = { readonly commandHandler: Pick<CommandHandler, 'load'>; readonly playbookAt: PlaybookVersions }

/**
 * Those that the playbook of an engagement had when that began; one that is not followed up goes by those of today.
 * Undefined where there are none.
 */
export const settingsOf = async (
  { commandHandler, playbookAt }: SettingsPorts,
  { attribution: { playbook_id: id }, followUp }: StartedEngagement,
): Promise<Either<StoreFailure, PlaybookSettings | undefined>> => {
  if (followUp !== undefined) return playbookAt(id, followUp.playbookVersion)
  const loaded = await commandHandler.load(playbook, id)
  if (E.isLeft(loaded)) return loaded
  const { state } = loaded.right
  return E.right(state.kind === 'created' ? state.settings : undefined)
}
