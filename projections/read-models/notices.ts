import type { AccountId, MemberId, NoticeId, WebhookId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { notice } from '../../domain/notice.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'

/** A notice; whom it goes to is known by the member's id alone. */
export type NoticeDocument = {
  readonly account_id: AccountId
  readonly id: NoticeId
  /** Present only where a webhook was turned off. */
  readonly webhook_id?: WebhookId
  readonly member_id: MemberId
  readonly state: 'due' | 'sent' | 'abandoned'
  readonly created_at: Instant
  readonly attempts: number
  readonly last_reason: string | null
  /** Present only while the notice is due. */
  readonly next_attempt_at?: Instant
}

export const notices: Projection<NoticeDocument> = {
  name: 'notices',
  version: 1,
  categories: ['notice'],
  indexes: { due: ['next_attempt_at'] },
  createdBy: new Set(['NoticeDue']),
  keyOf: (event) => idIn(notice, event.stream),
  evolve: (document, event) => {
    if (event.type === 'NoticeDue') {
      const { account_id, notice_id, member_id, due_at } = event.data
      const about = 'about' in event.data ? {} : { webhook_id: event.data.webhook_id }
      const ids = { account_id, id: notice_id, ...about, member_id }
      const untried = { attempts: 0, last_reason: null, next_attempt_at: due_at }
      return { ...ids, state: 'due', created_at: event.time, ...untried }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'NoticeAttemptFailed': {
        const { attempt, reason, next_attempt_at } = event.data
        return { ...document, attempts: attempt, last_reason: reason, next_attempt_at }
      }
      case 'NoticeSent':
        return { ...withoutNextAttempt(document), state: 'sent', attempts: event.data.attempt }
      case 'NoticeAbandoned':
        return { ...withoutNextAttempt(document), state: 'abandoned', last_reason: event.data.reason }
      default:
        return document
    }
  },
}

const withoutNextAttempt = ({ next_attempt_at: _next, ...document }: NoticeDocument): NoticeDocument => document
