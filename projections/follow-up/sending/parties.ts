import { account, type AccountState, type OpenAccount } from '../../../domain/account.js'
import { contact, type ContactState } from '../../../domain/contact.js'
import { day } from '../../../domain/duration.js'
import type { AccountId, ActivityReportId, ContactId } from '../../../domain/ids.js'
import { later, type Instant } from '../../../domain/instant.js'
import type { Clock, CommandHandler, StoreFailure } from '../../../domain/ports.js'
import type { Either } from '../../../domain/prelude.js'
import { optOutReportOf } from '../../../domain/saying.js'
import { sendingHold, type SendingHoldState } from '../../../domain/sending-hold.js'
import { orThrow } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { messages, type MessageDocument } from '../../read-models/messages.js'
import { FailedForGood, loadOrThrow, readOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import type { SenderOptOuts } from '../../from-streams/sender-opt-outs.js'

/** Whom a message would go to, and on whose behalf, as they are now. */
export type Parties = {
  readonly contact: ContactState
  /** It opted out of the sender before the account used it, and nobody has told the contact's own stream. */
  readonly isOptOutNew: boolean
  /** What an opt-out would stand for that comes now; undefined where the contact has opted out. */
  readonly optOutReport: ActivityReportId | undefined
  /** The contact's number, in E.164; undefined where it is not known any more. */
  readonly to: string | undefined
  readonly account: OpenAccount
  /** Until when the provider lets nothing through that the account sends; undefined where it does. */
  readonly heldUntil: Instant | undefined
  /** When messages of the account went to the contact within the last 24 hours, oldest first. */
  readonly sentInLastDay: ReadonlyArray<Instant>
}

export type PartiesPorts = {
  readonly commandHandler: CommandHandler
  readonly documents: Pick<Documents, 'find'>
  readonly clock: Clock
  readonly currentAccount: (id: AccountId) => Promise<Either<StoreFailure, AccountState>>
  readonly senderOptOuts: SenderOptOuts
  /** Where the sender is held it is read anew. */
  readonly currentHold: (id: AccountId) => Promise<Either<StoreFailure, SendingHoldState>>
}

/** @throws FailedForGood, and where a store fails */
export const partiesOf = async (
  { commandHandler, documents, clock, currentAccount, currentHold, senderOptOuts }: PartiesPorts,
  ids: { readonly account_id: AccountId; readonly contact_id: ContactId },
): Promise<Parties> => {
  const owner = readOrThrow(streamOf(account, ids.account_id), await currentAccount(ids.account_id))
  if (owner.kind !== 'open') {
    const reason = 'an engagement lacks its account'
    throw new FailedForGood(streamOf(account, ids.account_id), { kind: 'corrupt', reason })
  }
  const { state: person } = await loadOrThrow(commandHandler, contact, ids.contact_id)
  const { held } = readOrThrow(streamOf(sendingHold, ids.account_id), await currentHold(ids.account_id))
  const isOptOutNew =
    person.kind === 'known' &&
    !person.optedOut &&
    orThrow(await senderOptOuts.includes(owner.sender, person.details.phone))
  return {
    contact: isOptOutNew ? { ...person, optedOut: true } : person,
    isOptOutNew,
    optOutReport:
      person.kind !== 'known' || person.optedOut || isOptOutNew ? undefined : optOutReportOf(ids.contact_id, person),
    to: person.kind === 'known' ? person.details.phone : undefined,
    account: owner,
    heldUntil: held?.until,
    sentInLastDay: await sentSince(documents, ids.contact_id, later(clock.now(), -day)),
  }
}

/** No state allows more messages in a day than these, nor may steps follow as many. */
const mostInDay = 20

export const sentSince = async (
  { find }: Pick<Documents, 'find'>,
  contactId: ContactId,
  from: Instant,
): Promise<ReadonlyArray<Instant>> => {
  const query = { index: 'outbound', equals: [contactId], from, descending: true, limit: mostInDay }
  const found = orThrow(await find(collectionOf(messages), query)).map(({ document }) => document as MessageDocument)
  return found
    .filter(({ state }) => state !== 'failed' && state !== 'waiting')
    .flatMap(({ tried_at }) => tried_at ?? [])
    .toReversed()
}
