import type { NoticeId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import type { MailOutcome } from '../../domain/mail-outcome.js'

/** One e-mail to one address. Its id and time are the same on every attempt, so that whoever gets it twice can tell. */
export type Mail = {
  readonly id: NoticeId
  readonly at: Instant
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends mail. Never rejects, and ends within a time of its own. */
export type MailTransport = { readonly send: (mail: Mail) => Promise<MailOutcome> }
