import type { Instant } from '../../domain/instant.js'

/** What a lead says of its consent (contract 4.6.1), and who is said to have given it. */
export type Consent = {
  readonly token: string
  readonly url: string
  /** In E.164. */
  readonly phone: string
  readonly email: string
  readonly submittedAt: Instant
}

/**
 * `reason` is of a few words that hold nothing personal: it is stored for good. `refused`: there is no such consent, or
 * not for this person; undefined where no reason was given. `failed`: nobody can tell now, to be tried again.
 */
export type ConsentAnswer =
  | { readonly kind: 'verified' }
  | { readonly kind: 'refused'; readonly reason: string | undefined }
  | { readonly kind: 'failed'; readonly reason: string }

/** Finds out whether a consent is genuine. Never rejects, and ends within a time of its own. */
export type ConsentVerifier = { readonly verify: (consent: Consent) => Promise<ConsentAnswer> }
