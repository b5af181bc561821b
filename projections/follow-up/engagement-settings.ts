import type { StartedEngagement } from '../../domain/engagement.js'
import { playbook } from '../../domain/playbook.js'
import type { PlaybookSettings } from '../../domain/playbook-settings.js'
import type { CommandHandler } from '../../domain/ports.js'
import { streamOf } from '../../domain/stream-name.js'
import { settingsOf, type PlaybookVersions } from '../from-streams/playbook-versions.js'
import { FailedForGood, readOrThrow } from '../subscriptions/retries/failed-for-good.js'

/** The settings by which an engagement goes. @throws FailedForGood, and where the store fails */
export const settingsOrThrow = async (
  ports: { readonly commandHandler: CommandHandler; readonly playbookAt: PlaybookVersions },
  started: StartedEngagement,
): Promise<PlaybookSettings> => {
  const stream = streamOf(playbook, started.attribution.playbook_id)
  const settings = readOrThrow(stream, await settingsOf(ports, started))
  if (settings !== undefined) return settings
  throw new FailedForGood(stream, { kind: 'corrupt', reason: 'an engagement lacks its playbook' })
}
