import { account } from '../../domain/account.js'
import { providerMessageIdOf } from '../../domain/derived-id.js'
import type { AccountId, ContactId, MessageId } from '../../domain/ids.js'
import { message } from '../../domain/message.js'
import type { Phone } from '../../domain/phone.js'
import type { CommandHandler, Logger, Vault } from '../../domain/ports.js'
import { E, type Either, type TaskEither } from '../../domain/prelude.js'
import type { InboundText } from '../../domain/text-provider.js'
import type { Queries } from '../../projections/queries.js'
import { contacts } from '../../projections/read-models/contacts.js'
import { sourceList } from '../../projections/read-models/lists/source-list.js'
import { currentContact } from '../commands/states/current-contact.js'
import { loadState, type CurrentStates } from '../commands/states/current-states.js'
import { unopenableSecret, type Problem } from '../http/problem.js'
import { lastSentTo, type LastSent } from './last-sent.js'

export type RecipientPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly currentStates: CurrentStates
  readonly queries: Pick<Queries, 'byKeys' | 'values' | 'page'>
  readonly vault: Pick<Vault, 'accountSecret'>
  readonly logger: Pick<Logger, 'error'>
  /** As the provider calls it; undefined: nothing leaves the service, and accounts share nothing. */
  readonly sharedSender: string | undefined
}

/** The contact that the number has, or would have, in one of the accounts. */
export type PossibleContact = {
  readonly accountId: AccountId
  readonly contactId: ContactId
  /** As a contact that was erased since. */
  readonly optedOutBefore: boolean
  /** A lead of the number was submitted. */
  readonly isKnown: boolean
  /** Of the text, where it is for this account. */
  readonly messageId: MessageId
  /** What the account sends from, its own or the one that the accounts share; undefined where there is neither. */
  readonly sender: string | undefined
}

/** The provider's names for the sender that a text came to. */
type SenderNames = ReadonlyArray<string>

/** What tells for whom a text is: the number that wrote it, and what it came to. */
type TextAddress = Pick<InboundText, 'providerId' | 'to' | 'poolOfTo'> & { readonly phone: Phone }

/** The sender that a text came to, and the accounts that it is for, each by its contact with the number. */
export type TextRecipients = { readonly senderNames: SenderNames; readonly meant: ReadonlyArray<PossibleContact> }

/** A text is for the accounts that send from the sender it came to, or have written to the number from it. */
export const recipientsOf =
  (ports: RecipientPorts, { phone, providerId, to, poolOfTo }: TextAddress): TaskEither<Problem, TextRecipients> =>
  async () => {
    const possible = await possibleContacts(ports, phone, providerId)
    if (E.isLeft(possible)) return possible
    const isOwn = possible.right.some(({ sender }) => isIn(to, sender))
    const senderNames = poolOfTo === undefined || isOwn ? to : [...to, poolOfTo]
    const meant: Array<PossibleContact> = []
    for (const one of possible.right) {
      const wrote = isIn(senderNames, one.sender) ? E.right(true) : await lastSent(ports, one, senderNames)
      if (E.isLeft(wrote)) return wrote
      if (wrote.right !== undefined) meant.push(one)
    }
    return E.right({ senderNames, meant })
  }

/**
 * The contacts that a number has or would have, in all accounts that have a marketing source. Each account's id of it
 * is derived, and all are looked up with one query: a few microseconds for each account, and no read model has to hold
 * a number in an index. An account that can't be read misses what is written to it, and no other does.
 */
const possibleContacts = async (
  ports: RecipientPorts,
  phone: Phone,
  providerId: string,
): Promise<Either<Problem, ReadonlyArray<PossibleContact>>> => {
  const { queries, logger } = ports
  const accounts = await queries.values(sourceList, 'by_account')
  if (E.isLeft(accounts)) return accounts
  const possible: Array<Omit<PossibleContact, 'isKnown'>> = []
  for (const id of accounts.right.map(String)) {
    const one = await possibleContactIn(ports, id, phone, providerId)
    if (E.isRight(one)) possible.push(...one.right)
    else if (one.left.kind !== 'corrupt') return one
    else logger.error({ account: id, reason: one.left.reason }, unreadableAccount)
  }
  const ids = possible.map(({ contactId }) => contactId)
  const found = await queries.byKeys(contacts, ids)
  if (E.isLeft(found)) return found
  const known = new Set(found.right.map(({ id }) => id))
  return E.right(possible.map((one) => ({ ...one, isKnown: known.has(one.contactId) })))
}

export const unreadableAccount = 'what is written to an account is not heard, since it can not be read'

const possibleContactIn = async (
  { commandHandler, currentStates, vault, sharedSender }: RecipientPorts,
  id: string,
  phone: Phone,
  providerId: string,
): Promise<Either<Problem, ReadonlyArray<Omit<PossibleContact, 'isKnown'>>>> => {
  const owner = await currentStates.get(account, id, ({ kind }) => kind === 'open')
  if (E.isLeft(owner)) return owner
  if (owner.right.kind !== 'open') return E.right([])
  const { accountId, sealedSecret, hasErasures, sender } = owner.right
  const secret = vault.accountSecret(sealedSecret)
  if (E.isLeft(secret)) return E.left(unopenableSecret)
  const current = await currentContact(commandHandler, { secret: secret.right, hasErasures }, phone)()
  if (E.isLeft(current)) return current
  const { id: contactId, optedOutBefore } = current.right
  const messageId = providerMessageIdOf(secret.right, contactId, providerId)
  return E.right([{ accountId, contactId, optedOutBefore, messageId, sender: sender?.from ?? sharedSender }])
}

const isIn = (names: SenderNames, sender: string | undefined): boolean => sender !== undefined && names.includes(sender)

/**
 * The one for whom the text is recorded already, else the one who was written to last; undefined where nobody wrote to
 * the number.
 */
export const writtenToLast =
  (
    ports: RecipientPorts,
    possible: ReadonlyArray<PossibleContact>,
    senderNames: SenderNames,
  ): TaskEither<Problem, PossibleContact | undefined> =>
  async () => {
    const sentTo: Array<{ readonly one: PossibleContact; readonly sent: LastSent }> = []
    for (const one of possible) {
      const known = await loadState(ports.commandHandler, message, one.messageId)
      if (E.isLeft(known) && known.left.kind !== 'corrupt') return known
      if (E.isRight(known) && known.right.kind !== 'unknown') return E.right(one)
      const last = await lastSent(ports, one, senderNames)
      if (E.isLeft(last)) return last
      if (last.right !== undefined) sentTo.push({ one, sent: last.right })
    }
    const [newest] = sentTo.toSorted((one, other) => byLikelihood(one.sent, other.sent))
    return E.right(newest?.one)
  }

/** The newest first, and after them those whose message is said to be undelivered. */
const byLikelihood = (one: LastSent, other: LastSent): number => {
  if (one.isUndelivered !== other.isUndelivered) return one.isUndelivered ? 1 : -1
  return (one.document.tried_at ?? '') > (other.document.tried_at ?? '') ? -1 : 1
}

/** The last message from the sender to the contact. */
const lastSent = async (
  { queries, sharedSender }: RecipientPorts,
  { contactId, isKnown }: PossibleContact,
  senderNames: SenderNames,
): Promise<Either<Problem, LastSent | undefined>> =>
  isKnown ? lastSentTo(queries, contactId, (own) => isIn(senderNames, own ?? sharedSender)) : E.right(undefined)
