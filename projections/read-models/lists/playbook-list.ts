import type { AccountId, PlaybookId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { playbook } from '../../../domain/playbook.js'
import { settingsIn, type PlaybookSettings } from '../../../domain/playbook-settings.js'
import { idIn } from '../../../domain/stream-name.js'
import type { Projection } from '../../projection.js'

/** The playbooks of an account, oldest first. */
export type PlaybookDocument = PlaybookSettings & {
  readonly account_id: AccountId
  readonly id: PlaybookId
  readonly created_at: Instant
}

export const playbookList: Projection<PlaybookDocument> = {
  name: 'playbook_list',
  version: 2,
  categories: ['playbook'],
  indexes: { by_account: ['account_id', 'created_at'] },
  createdBy: new Set(['PlaybookCreated']),
  keyOf: (event) => {
    switch (event.type) {
      case 'PlaybookCreated':
      case 'PlaybookChanged':
      case 'PlaybookDeleted':
        return idIn(playbook, event.stream)
      default:
        return undefined
    }
  },
  evolve: (document, event) => {
    switch (event.type) {
      case 'PlaybookCreated': {
        const { account_id, playbook_id, settings } = event.data
        return { account_id, id: playbook_id, ...settingsIn(settings), created_at: event.time }
      }
      case 'PlaybookChanged':
        return document === undefined ? undefined : { ...document, ...settingsIn(event.data.settings) }
      case 'PlaybookDeleted':
        return undefined
      default:
        return document
    }
  },
}
