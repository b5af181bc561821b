import { account } from '../../domain/account.js'
import { contact, type KnownContact } from '../../domain/contact.js'
import { day, minute } from '../../domain/duration.js'
import { engagement } from '../../domain/engagement.js'
import type { EventOf } from '../../domain/events.js'
import type { AccountId, ContactId, EngagementId, MessageId } from '../../domain/ids.js'
import { later, type Instant } from '../../domain/instant.js'
import type { PlaybookSettings } from '../../domain/playbook-settings.js'
import type { Clock, CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { isKeyword, meaningOf, type ProviderMark, type ReplyMeaning } from '../../domain/reply-meaning.js'
import { optOutReportOf } from '../../domain/saying.js'
import { settingsOf, type PlaybookVersions } from '../../projections/from-streams/playbook-versions.js'
import type { Queries } from '../../projections/queries.js'
import { loadState } from '../commands/states/current-states.js'
import { lastSentTo } from './last-sent.js'
import type { OptMeaning } from './sender-opt-out.js'

type Ports = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly queries: Pick<Queries, 'page'>
  readonly clock: Pick<Clock, 'now'>
  readonly playbookAt: PlaybookVersions
}

/** A text that a contact wrote, in its account. */
type ArrivedText = {
  readonly messageId: MessageId
  readonly accountId: AccountId
  readonly contactId: ContactId
  readonly text: string
  /** What it means to the sender that it came to, and so in all of its accounts. */
  readonly meaningToSender: OptMeaning | undefined
  /** Its order at the sender, where it may say something to it. */
  readonly saidAt: Instant | undefined
  /** Where a provider brought it. */
  readonly providerId?: string
  /** Whether the provider answers its keywords itself, as STOP and HELP, unless the account says otherwise. */
  readonly isAnsweredByDefault: boolean
  /** Whether this account is the one that answers, where several got the text. */
  readonly mayAnswer: boolean
  /** Set where the provider has understood the text, and answers it itself. */
  readonly mark?: ProviderMark | undefined
}

type ReplyFacts = EventOf<'MessageReceived'>['data']
type Missing = { readonly kind: 'contact-not-found' | 'engagement-not-found' | 'playbook-not-found' }

const notFound: Missing = { kind: 'contact-not-found' }

/**
 * What a text means to the engagement whose message it answers: the one that wrote to the contact last, else the
 * newest.
 */
export const replyFactsOf = async (
  ports: Ports,
  {
    messageId,
    accountId,
    contactId,
    text,
    meaningToSender,
    saidAt,
    providerId,
    isAnsweredByDefault,
    mayAnswer,
    mark,
  }: ArrivedText,
): Promise<Either<StoreFailure | Missing, ReplyFacts>> => {
  const loaded = await loadState(ports.commandHandler, contact, contactId)
  if (E.isLeft(loaded)) return loaded
  const person = loaded.right
  if (person.kind !== 'known' || person.accountId !== accountId) return E.left(notFound)
  const answered = await answeredBy(ports, contactId, person)
  if (E.isLeft(answered)) return answered
  const settings = await settingsOfEngagement(ports, answered.right)
  if (E.isLeft(settings)) return settings
  const now = ports.clock.now()
  const meaning = meaningToSender ?? meaningOf(text, settings.right, person.optedOut, mark)
  const owner = await loadState(ports.commandHandler, account, accountId)
  if (E.isLeft(owner)) return owner
  const byAccount = owner.right.kind === 'open' ? owner.right.providerAnswersKeywords : null
  const isAnswered = mark !== undefined || ((byAccount ?? isAnsweredByDefault) && isKeyword(text))
  const answer = isAnswered || !mayAnswer ? undefined : answerTo[meaning]
  return E.right({
    message_id: messageId,
    account_id: accountId,
    contact_id: contactId,
    engagement_id: answered.right,
    text,
    meaning,
    ...(answer === undefined ? {} : { answer }),
    ...(providerId === undefined ? {} : { provider_id: providerId }),
    ...(saidAt === undefined ? {} : { said_at: saidAt }),
    ...(meaning === 'opted_out' ? { report_id: optOutReportOf(contactId, person) } : {}),
    ...(meaning === 'opted_out' && person.optedOut ? { opted_out_before: true } : {}),
    paused_until: later(now, day),
    gives_up_at: later(now, settings.right.give_up_after_minutes * minute),
  })
}

/**
 * What is sent at once, at any hour. Whether an opt-out is the first, and so is confirmed, the contact's own stream
 * decides.
 */
const answerTo: { readonly [meaning in ReplyMeaning]?: 'confirmation' | 'help' } = {
  opted_out: 'confirmation',
  help: 'help',
}

const answeredBy = async (
  { queries }: Ports,
  contactId: ContactId,
  { newest }: KnownContact,
): Promise<Either<StoreFailure | Missing, EngagementId>> => {
  const sent = await lastSentTo(queries, contactId)
  if (E.isLeft(sent)) return sent
  const last = sent.right
  // What is said to be undelivered is answered where nothing newer has begun.
  const id =
    last === undefined || last.isUndelivered
      ? (newest?.engagementId ?? last?.document.engagement_id)
      : last.document.engagement_id
  return id === undefined ? E.left(notFound) : E.right(id)
}

const settingsOfEngagement = async (
  ports: Ports,
  id: EngagementId,
): Promise<Either<StoreFailure | Missing, PlaybookSettings>> => {
  const loaded = await loadState(ports.commandHandler, engagement, id)
  if (E.isLeft(loaded)) return loaded
  if (loaded.right.kind === 'unknown') return E.left({ kind: 'engagement-not-found' })
  const settings = await settingsOf(ports, loaded.right)
  if (E.isLeft(settings)) return settings
  return settings.right === undefined ? E.left({ kind: 'playbook-not-found' }) : E.right(settings.right)
}
