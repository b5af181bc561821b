import type { NoticeId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'

/** One e-mail to one address. Its id and time are the same on every attempt, so that a repeat can be recognised. */
export type Mail = {
  readonly id: NoticeId
  readonly at: Instant
  readonly to: string
  readonly subject: string
  readonly text: string
}

/**
 * `sent`: whoever took it answers for it from now on. `refused`: for good; `failed`: it may be tried again. `reason` is one of
 * a few words of ours and holds nothing that a server said.
 */
export type MailOutcome = 'sent' | { readonly kind: 'refused' | 'failed'; readonly reason: string }

/** Sends mail. Never rejects, and ends within a time of its own. */
export type MailSender = { readonly send: (mail: Mail) => Promise<MailOutcome> }
