import type { MessageId } from './ids.js'
import type { Instant } from './instant.js'

/** A text for one number. Its id is the same on every attempt, so that whoever gets it twice can tell. */
export type OutgoingMessage = {
  readonly id: MessageId
  /** In E.164. */
  readonly to: string
  readonly text: string
  /** A sender of the account's own; undefined: the one that the accounts share. */
  readonly from: string | undefined
  /** After this it must not be delivered any more, such as when the night begins; undefined: whenever. */
  readonly validUntil: Instant | undefined
}

/**
 * How one attempt ended. `reason` is one of a few words of ours, with the provider's code, and holds nothing that it
 * said. `accepted`: the provider takes care of it under its own id. `opted-out`: the provider knows that the number
 * wants nothing. `undeliverable`: the number can't be reached. `unreached`: the phone was off, or the carrier gave no
 * reason: to be tried again, a few times. `failed`: to be tried again, not before `retryAt` where it is given.
 * `sender-blocked`: nothing of this sender gets through until somebody has settled it with the provider. `refused`:
 * this very message never will be taken. `unknown`: it may have been taken.
 */
export type MessengerOutcome =
  | { readonly kind: 'accepted'; readonly providerId: string | undefined }
  | {
      readonly kind: 'opted-out' | 'undeliverable' | 'unreached' | 'sender-blocked' | 'refused' | 'unknown'
      readonly reason: string
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAt: Instant | undefined }

/** What the provider has of a message whose outcome was unknown; `unknown` where it can't tell. */
export type Settled =
  { readonly kind: 'accepted'; readonly providerId: string } | { readonly kind: 'absent' | 'unknown' }

/** Whether the provider has a message no longer; `reason` is in words of ours. */
export type CopyErasure = { readonly kind: 'erased' } | { readonly kind: 'kept'; readonly reason: string }

/** In milliseconds: what a provider has just taken it lists by then. */
export const settlingTime = 5_000

/** Sends texts. Never rejects, and ends within a time of its own. */
export type Messenger = {
  readonly send: (message: OutgoingMessage) => Promise<MessengerOutcome>
  /** Looks for a message that was tried since `since`. `known`: the provider's ids of others. */
  readonly settle: (message: OutgoingMessage, since: Instant, known: ReadonlySet<string>) => Promise<Settled>
  /** Erases what the provider has under this id of its own. */
  readonly eraseCopy: (providerId: string) => Promise<CopyErasure>
}
