import { streamOf } from '../../domain/decider.js'
import type { EngagementState } from '../../domain/engagement.js'
import type { PlaybookId } from '../../domain/ids.js'
import { playbook, type PlaybookSettings } from '../../domain/playbook.js'
import type { CommandHandler } from '../../domain/ports.js'
import type { PlaybookVersions } from '../from-streams/playbook-versions.js'
import { FailedForGood, loadOrThrow, readOrThrow } from '../subscriptions/retries/retried-command.js'

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
