import { decode, optional, refined, t, Text, type Mismatch } from '../../domain/codec.js'
import { E, type Either } from '../../domain/prelude.js'
import { failureOf } from './error-codes.js'
import { MessageSid } from './message-sid.js'

/** What has become of a message; `accepted`: it still waits at the provider. `failure` says why where it has failed. */
type StatusCallback =
  | { readonly providerId: string; readonly state: 'accepted' | 'sent' | 'delivered' }
  | { readonly providerId: string; readonly state: 'failed'; readonly failure: ReturnType<typeof failureOf> }

/** What somebody wrote. `optOutType`: the provider answers this text itself. */
type InboundMessage = {
  readonly providerId: string
  readonly from: string
  readonly to: string
  /** The Messaging Service that the number belongs to, where it does. */
  readonly service: string | undefined
  /** Blank where only a picture came. */
  readonly text: string
  readonly optOutType: 'STOP' | 'START' | 'HELP' | undefined
}

const states = {
  accepted: 'accepted',
  scheduled: 'accepted',
  queued: 'accepted',
  sending: 'accepted',
  sent: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  failed: 'failed',
  canceled: 'failed',
} as const

const ErrorCode = refined(
  'an error code',
  (value): value is string => typeof value === 'string' && /^\d{0,6}$/.test(value),
)

const Status = t.type({
  MessageSid,
  MessageStatus: t.keyof(states, 'a status of a message'),
  ErrorCode: optional(ErrorCode),
})

/** Decodes the form of a status callback. Left: the fields that are wrong. */
export const statusCallbackFrom = (form: URLSearchParams): Either<ReadonlyArray<Mismatch>, StatusCallback> =>
  E.map(({ MessageSid: providerId, MessageStatus, ErrorCode: code }: t.TypeOf<typeof Status>): StatusCallback => {
    const state = states[MessageStatus]
    if (state !== 'failed') return { providerId, state }
    return { providerId, state, failure: failureOf(Number(code ?? 0) === 0 ? undefined : Number(code)) }
  })(decode(Status, Object.fromEntries(form)))

const Inbound = t.type({
  MessageSid,
  From: Text,
  To: Text,
  Body: t.string,
  OptOutType: optional(t.string),
  MessagingServiceSid: optional(t.string),
})

const optOutTypes = ['STOP', 'START', 'HELP'] as const

/** Decodes the form of a message that came in. Left: the fields that are wrong. */
export const inboundMessageFrom = (form: URLSearchParams): Either<ReadonlyArray<Mismatch>, InboundMessage> =>
  E.map(
    ({
      MessageSid: providerId,
      From,
      To,
      Body,
      OptOutType,
      MessagingServiceSid,
    }: t.TypeOf<typeof Inbound>): InboundMessage => ({
      providerId,
      from: From,
      to: To,
      service: MessagingServiceSid,
      text: Body,
      // A type that Twilio may add one day is no reason to lose the text.
      optOutType: optOutTypes.find((type) => type === OptOutType),
    }),
  )(decode(Inbound, Object.fromEntries(form)))
