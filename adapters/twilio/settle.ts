import { decode, t } from '../../domain/codec.js'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import type { OutgoingMessage, Settled } from '../../domain/messenger.js'
import { E } from '../../domain/prelude.js'
import { messagesPath, type TwilioAccount } from './account.js'
import { askTwilio } from './requests.js'

const Nullable = t.union([t.string, t.null])

const Listed = t.type({
  sid: t.string,
  body: Nullable,
  direction: t.string,
  date_created: t.string,
  from: Nullable,
  messaging_service_sid: Nullable,
})
type Listed = t.TypeOf<typeof Listed>

const Page = t.type({ messages: t.array(Listed), next_page_uri: t.union([t.string, t.null, t.undefined]) })

/** Messages to one number that are looked at, at most: more are hardly ever sent to anybody. */
const pageSize = 50
const mostPages = 10

/** Twilio writes whole seconds. */
const precision = 1_000

/** In milliseconds: by so much Twilio's clock may be behind ours. */
const longestBehind = 5 * 60_000

/**
 * Looks for a message among those to its number. They are listed by the number alone: of a message that still waits
 * `DateSent` is empty, and a filter by it might leave it out, so that it would be sent twice.
 *
 * Of several that fit, all of them of the same words to the same number from the same sender, and none of them known,
 * it is the first one since the attempt, or else the last one before: whichever it is, whoever has the number has the
 * text, and to send it again would be worse than to name the wrong id. The status callback names our id.
 */
export const settledBy = async (
  account: TwilioAccount,
  { to, text, from: own }: OutgoingMessage,
  { since, known }: { readonly since: Instant; readonly known: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<Settled> => {
  const begun = millisecondsOf(since) - precision
  const fits = ({ sid, body, direction, date_created, from, messaging_service_sid }: Listed): boolean =>
    !known.has(sid) &&
    direction.startsWith('outbound') &&
    Date.parse(date_created) >= begun - longestBehind &&
    [from, messaging_service_sid].includes(own ?? account.sender) &&
    wordsOf(body ?? '') === wordsOf(text)
  const listed = await listTo(account, to, signal)
  const fitting = listed.messages.filter(fits).sort((one, other) => createdAt(one) - createdAt(other))
  const found = fitting.find((one) => createdAt(one) >= begun) ?? fitting.at(-1)
  if (found !== undefined) return { kind: 'accepted', providerId: found.sid }
  return { kind: listed.isComplete ? 'absent' : 'unknown' }
}

const createdAt = ({ date_created }: Listed): number => Date.parse(date_created)

/** Letters and digits alone: a Messaging Service may replace other characters by similar ones (Smart Encoding). */
const wordsOf = (text: string): string => text.normalize('NFKD').replace(/[^\p{L}\p{N}]/gu, '')

const listTo = async (account: TwilioAccount, to: string, signal: AbortSignal) => {
  const messages: Array<Listed> = []
  const path = messagesPath(account)
  let next = `${path}?${new URLSearchParams({ To: to, PageSize: String(pageSize) }).toString()}`
  for (let count = 0; count < mostPages; count += 1) {
    const answer = await askTwilio(account, { path: next }, signal)
    if (answer.kind !== 'answered' || answer.status !== 200) return { messages, isComplete: false }
    const page = decode(Page, answer.body)
    if (E.isLeft(page)) return { messages, isComplete: false }
    messages.push(...page.right.messages)
    const { next_page_uri } = page.right
    if (typeof next_page_uri !== 'string') return { messages, isComplete: true }
    // The token goes nowhere else.
    if (!next_page_uri.startsWith(`${path}?`)) return { messages, isComplete: false }
    next = next_page_uri
  }
  return { messages, isComplete: false }
}
