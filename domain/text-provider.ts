import type { Mismatch } from './codec.js'
import type { MessageReport } from './message.js'
import type { Either } from './prelude.js'
import type { ProviderMark } from './reply-meaning.js'

/** What somebody wrote to a sender of ours. */
export type InboundText = {
  readonly providerId: string
  readonly from: string
  /**
   * What the provider calls the sender that it came to: its number, and where it has one the pool that the number
   * belongs to.
   */
  readonly to: ReadonlyArray<string>
  /** The pool that the number may belong to, where the provider does not say: unless the number is an account's own. */
  readonly poolOfTo: string | undefined
  /** Blank where only a picture came. */
  readonly text: string
  /** Set where the provider has understood the text, and answers it itself. */
  readonly mark: ProviderMark | undefined
}

/** Reads what the provider of texts posts. Left: the fields that are wrong. */
export type TextProvider = {
  /** A part of the paths that it posts to. */
  readonly name: string
  /** What it calls the sender that the accounts share. */
  readonly sharedSender: string
  /** In milliseconds: after this it waits no longer for the answer to what it posts. */
  readonly timeLimit: number
  /** Whether it answers its keywords, as STOP, unless one has told it not to. */
  readonly answersKeywords: boolean
  /** Whether the provider signed the form, which was posted to this path below the public URL with such headers. */
  readonly isSigned: (path: string, form: URLSearchParams, header: (name: string) => string | undefined) => boolean
  readonly reportFrom: (form: URLSearchParams) => Either<ReadonlyArray<Mismatch>, MessageReport>
  readonly textFrom: (form: URLSearchParams) => Either<ReadonlyArray<Mismatch>, InboundText>
}
