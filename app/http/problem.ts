import { mostApiKeys, mostMembers, type AccountRefusal } from '../../domain/account.js'
import type { Mismatch } from '../../domain/codec.js'
import type { ContactRefusal } from '../../domain/contact.js'
import { largestDetails } from '../../domain/contact-details.js'
import type { ReportRefusal } from '../../domain/conversion-report.js'
import type { DeliveryRefusal } from '../../domain/delivery.js'
import type { EngagementRefusal } from '../../domain/engagement.js'
import type { MarketingSourceRefusal } from '../../domain/marketing-source.js'
import type { ParkedEventRefusal } from '../../domain/parked-event.js'
import type { PlaybookRefusal } from '../../domain/playbook.js'
import type { Contended, StoreFailure } from '../../domain/ports.js'
import { unreachable } from '../../domain/prelude.js'
import { largestReport, type RemarkRefusal } from '../../domain/remark.js'
import type { ResendRefusal } from '../../domain/resend.js'
import { mostWebhooks, type WebhookRefusal } from '../../domain/webhook.js'

/** Everything that can keep a request from being done. Messages name fields and never hold a value. */
export type Problem =
  | { readonly kind: 'invalid'; readonly messages: ReadonlyArray<string> }
  | { readonly kind: 'invalid-json' }
  | { readonly kind: 'forbidden'; readonly message: string }
  /** A look-up by id (contract 7: a message instead of an errors list). */
  | { readonly kind: 'not-found'; readonly message: string }
  /** A search or a post URL that leads nowhere. */
  | { readonly kind: 'no-match'; readonly message: string }
  | { readonly kind: 'method-not-allowed' }
  | { readonly kind: 'too-large' }
  /** The body may be smaller than its limit and hold more than a lead may. */
  | { readonly kind: 'fields-too-large' }
  | { readonly kind: 'unsupported-media-type' }
  | { readonly kind: 'unsupported-charset' }
  | { readonly kind: 'compressed' }
  | { readonly kind: 'too-many-requests'; readonly retryAfter: number }
  | { readonly kind: 'unexpected' }
  | { readonly kind: 'too-many-webhooks' }
  | { readonly kind: 'contact-opted-out' }
  /** A text that was said to a sender, where another said the contrary since. */
  | { readonly kind: 'text-outdated' }
  /** Another process maintains these read models, or this one has not begun to. */
  | { readonly kind: 'read-models-elsewhere'; readonly names: ReadonlyArray<string> }
  | StoreFailure
  | Contended
  | AccountRefusal
  | PlaybookRefusal
  | MarketingSourceRefusal
  | ContactRefusal
  | ReportRefusal
  | EngagementRefusal
  | RemarkRefusal
  | WebhookRefusal
  | DeliveryRefusal
  | ResendRefusal
  | ParkedEventRefusal

/** Text as it comes; the signal aborts when the client has gone. */
export class StreamedText {
  readonly from: (gone: AbortSignal) => AsyncIterable<string>

  constructor(from: (gone: AbortSignal) => AsyncIterable<string>) {
    this.from = from
  }
}

export type Answer = {
  readonly status: number
  /** What becomes JSON, or text that goes on for as long as it takes. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Of the events that the request wrote: for the log, never sent. */
  readonly correlationId?: string | undefined
}

/**
 * The request should end conversations, but the log failed before they had ended. A success would promise that none of
 * them sends any more. What was recorded stays, and the same request is answered once they have ended.
 */
export const engagementsNotEnded: Problem = {
  kind: 'unavailable',
  reason: 'the conversations of a contact could not be ended yet',
}

/** No endpoint has the path. */
export const nothingAtPath = { kind: 'not-found', message: 'there is nothing at this path' } as const

/** It was sealed with another key. */
export const unopenableSecret: Problem = {
  kind: 'corrupt',
  reason: 'the secret of an account can not be opened',
}

export const invalid = (mismatches: ReadonlyArray<Mismatch>): Problem => ({
  kind: 'invalid',
  messages: mismatches.map(({ path, expected }) => `${path === '' ? 'the body' : path} must be ${expected}`),
})

/** Of names that were sent, `what` of which there is none. A name may be anything: only a plain one is shown. */
export const unknownNames = (
  names: ReadonlyArray<string>,
  what: 'parameter of this path' | 'field of this request',
): Problem => {
  const shown = names.map((name) => (/^[\w.-]{1,100}$/.test(name) ? name : 'a name that was sent'))
  return { kind: 'invalid', messages: [...new Set(shown)].map((name) => `${name} is no ${what}`) }
}

/** What a look-up by id says where there is nothing. */
const missing = {
  'account-not-found': 'account not found',
  'api-key-not-found': 'API key not found',
  'member-not-found': 'member not found',
  'playbook-not-found': 'playbook not found',
  'source-not-found': 'marketing source not found',
  'contact-not-found': 'contact not found',
  'engagement-not-found': 'engagement not found',
  'webhook-not-found': 'webhook not found',
  'delivery-not-found': 'delivery not found',
  'resend-not-found': 'resend not found',
  'parked-event-not-found': 'parked event not found',
} as const

/** What a request that can't be done now says. */
const conflicts = {
  'too-many-api-keys': `the account has ${mostApiKeys.toLocaleString('en-US')} API keys: revoke one before`,
  'member-already-added': 'email belongs to a member already',
  'too-many-members': `the account has ${mostMembers.toLocaleString('en-US')} members: remove one before`,
  'playbook-in-use': 'a marketing source uses this playbook',
  'too-many-webhooks': `the account has as many webhooks as it may have, which are ${mostWebhooks}: remove one first`,
  'contact-opted-out': 'the contact opted out of messages',
  'text-outdated': 'the contrary was said to the sender since: write the text again under another Idempotency-Key',
  'delivery-erased': 'what was to be posted is erased',
  'delivery-waiting': 'the delivery still waits to be posted',
  'engagement-ended': 'the engagement has ended with an outcome or a conversion',
  'step-not-due': 'the engagement is at another step',
  'remarks-erased': 'the contact of the engagement was erased: note and properties can not be taken any more',
} as const

/** The one table from problems to what a client sees. */
export const answerTo = (problem: Problem): Answer => {
  switch (problem.kind) {
    case 'invalid':
      return errors(400, ...problem.messages)
    case 'invalid-json':
      return { status: 400, body: { error: 'the body is not valid JSON' } }
    case 'forbidden':
      return errors(403, problem.message)
    case 'not-found':
      return message(problem.message)
    case 'no-match':
      return errors(404, problem.message)
    case 'method-not-allowed':
      return errors(405, 'the method is not allowed here')
    case 'too-large':
      return errors(413, 'the body is larger than 100 kB')
    case 'fields-too-large':
      return errors(413, `the fields are larger than ${largestDetails.bytes / 1024} kB`)
    case 'activity-report-too-large':
      return errors(413, `note and properties are larger than ${largestReport / 1024} kB`)
    case 'unsupported-media-type':
      return errors(415, 'Content-Type must be application/json or application/x-www-form-urlencoded')
    case 'unsupported-charset':
      return errors(415, 'the charset in Content-Type must be utf-8, iso-8859-1 or windows-1252')
    case 'compressed':
      return errors(415, 'the body must be sent without a Content-Encoding')
    case 'too-many-requests':
      return {
        ...errors(429, 'the limit per minute is reached'),
        headers: { 'retry-after': String(problem.retryAfter) },
      }
    case 'unavailable':
    case 'contended':
      return { ...errors(503, 'the store does not answer, try again'), headers: { 'retry-after': '1' } }
    case 'corrupt':
    case 'unexpected':
      return errors(500, 'the request could not be handled')
    case 'read-models-elsewhere':
      return errors(409, `this process does not maintain ${problem.names.join(', ')} now`)
    case 'account-not-found':
    case 'api-key-not-found':
    case 'member-not-found':
    case 'playbook-not-found':
    case 'source-not-found':
    case 'contact-not-found':
    case 'engagement-not-found':
    case 'webhook-not-found':
    case 'delivery-not-found':
    case 'resend-not-found':
    case 'parked-event-not-found':
      return message(missing[problem.kind])
    case 'too-many-api-keys':
    case 'member-already-added':
    case 'too-many-members':
    case 'playbook-in-use':
    case 'too-many-webhooks':
    case 'contact-opted-out':
    case 'text-outdated':
    case 'delivery-erased':
    case 'delivery-waiting':
    case 'engagement-ended':
    case 'step-not-due':
    case 'remarks-erased':
      return errors(409, conflicts[problem.kind])
    case 'playbook-invalid':
      return answerTo(invalid(problem.mismatches))
    case 'delivery-changed':
      return { ...errors(503, 'the delivery was changed meanwhile, try again'), headers: { 'retry-after': '1' } }
    case 'value-negative':
      return errors(422, 'custom_value must be greater than or equal to 0')
    case 'label-not-reportable':
      return errors(422, 'label is fired by the service itself and can not be reported')
    default:
      return unreachable(problem)
  }
}

const errors = (status: number, ...messages: ReadonlyArray<string>): Answer => ({ status, body: { errors: messages } })

const message = (text: string): Answer => ({ status: 404, body: { message: text } })
