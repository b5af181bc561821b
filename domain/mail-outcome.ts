/**
 * How one attempt to mail a notice ended. `sent`: a mail server, or the outbox, accepted it; `refused`: for good;
 * `failed`: it is tried again. `reason` is one of a few words of ours and holds nothing that a server said.
 */
export type MailOutcome = 'sent' | { readonly kind: 'refused' | 'failed'; readonly reason: string }
