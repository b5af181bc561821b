import { contact } from '../../domain/contact.js'
import type { OwnSender } from '../../domain/account.js'
import type { EventOf } from '../../domain/events.js'
import type { AccountId, ContactId, MessageId } from '../../domain/ids.js'
import { message } from '../../domain/message.js'
import type { Clock, Vault } from '../../domain/ports.js'
import { E, pipe, TE, type Either, type TaskEither } from '../../domain/prelude.js'
import type { ProviderMark } from '../../domain/reply-meaning.js'
import type { PlaybookVersions } from '../../projections/from-streams/playbook-versions.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import { engagementsNotEnded, type Problem } from '../http/problem.js'
import { recipientsOf, type PossibleContact, type RecipientPorts } from './recipients.js'
import { replyFactsOf } from './reply-facts.js'
import { noOpt, recordAtSender, recordForStrangers, type OptMeaning, type SenderOpt } from './sender-opt-out.js'

export type ReceivingPorts = Omit<RecipientPorts, 'vault'> & {
  readonly vault: Pick<Vault, 'accountSecret' | 'serviceSecret'>
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  readonly playbookAt: PlaybookVersions
}

type RecordingPorts = Pick<ReceivingPorts, 'commandHandler' | 'clientCommands' | 'clock' | 'playbookAt'> & {
  readonly queries: Pick<ReceivingPorts['queries'], 'page'>
}

/** A text of a contact. */
type ReceivedText = {
  readonly text: string
  readonly meaningToSender: OptMeaning | undefined
  readonly saidAt: SenderOpt['saidAt']
  /** Where a provider brought it. */
  readonly providerId?: string
  readonly mark?: ProviderMark | undefined
  readonly isAnsweredByDefault: boolean
  readonly actor: string
}

type Recipient = Pick<PossibleContact, 'accountId' | 'contactId' | 'messageId'>

type RecordedText = {
  readonly facts: Omit<EventOf<'MessageReceived'>['data'], 'text'>
  /** None where it was recorded before: then the facts are those of that time. */
  readonly events: ReadonlyArray<{ readonly correlationId: string }>
}

/**
 * Records a text of a contact. A repeated text changes nothing, but a repeated opt-out carries out what failed the
 * first time. Left where the conversations of a contact that opts out could not be ended, since none may send after the
 * answer. `mayAnswer`: only one of the accounts that share a sender does.
 */
const receive = async (
  ports: RecordingPorts,
  { actor, ...received }: ReceivedText,
  { accountId, contactId, messageId }: Recipient,
  mayAnswer: boolean,
): Promise<Either<Problem, RecordedText>> => {
  const known = await loadState(ports.commandHandler, message, messageId)
  if (E.isLeft(known)) return known
  const before = known.right.kind === 'received' ? known.right.facts : undefined
  if (before !== undefined && before.meaning !== 'opted_out') return E.right({ facts: before, events: [] })
  const facts =
    before !== undefined
      ? E.right({ ...before, text: received.text })
      : await replyFactsOf(ports, { ...received, accountId, contactId, messageId, mayAnswer })
  if (E.isLeft(facts)) return facts
  const command = { type: 'ReceiveMessage', facts: facts.right } as const
  const done = await ports.clientCommands.execute(message, messageId, command, actor)
  if (E.isLeft(done)) return done
  const { events, isPending } = done.right
  if (isPending && facts.right.meaning === 'opted_out') return E.left(engagementsNotEnded)
  return E.right({ facts: facts.right, events })
}

/** Records it for each, also after one for which it fails. Left: the first failure. */
export const receiveForEach = async (
  ports: RecordingPorts,
  received: ReceivedText,
  recipients: ReadonlyArray<Recipient>,
  answering: Recipient | undefined,
): Promise<Either<Problem, undefined>> => {
  let problem: Problem | undefined
  for (const one of recipients) {
    const done = await receive(ports, received, one, one === answering)
    if (E.isLeft(done)) problem ??= done.left
  }
  return problem === undefined ? E.right(undefined) : E.left(problem)
}

/** Those who are contacts: also where no read model shows that yet, if the text says something to the sender. */
export const contactsMeant = (
  ports: RecordingPorts & Pick<ReceivingPorts, 'logger'>,
  { meaning, ...said }: SenderOpt,
  meant: ReadonlyArray<PossibleContact>,
  actor: string,
): TaskEither<Problem, ReadonlyArray<PossibleContact>> =>
  pipe(
    () =>
      meaning === undefined
        ? Promise.resolve(E.right([]))
        : recordForStrangers(ports, { meaning, ...said }, meant, actor),
    TE.map((notShown) => [...meant.filter(({ isKnown }) => isKnown), ...notShown]),
  )

/** A text that the management API gives in a contact's stead. */
type ManagementText = {
  readonly account: { readonly accountId: AccountId; readonly sender: OwnSender | null }
  readonly contactId: ContactId
  readonly messageId: MessageId
  readonly text: string
  readonly actor: string
}

/**
 * Records it as if it had come to the sender of the account: there an opt-out, and an opt-in, count in all accounts
 * that write from it. Any other text, and every text where the account has no sender, concerns the account alone. Left
 * where a newer text has reversed this one before the contact recorded it.
 */
export const receiveFromManagement = async (
  ports: ReceivingPorts,
  given: ManagementText,
): Promise<Either<Problem, RecordedText>> => {
  const toSender = await receiveAtSender(ports, given)
  if (E.isLeft(toSender)) return toSender
  const { meaning: meaningToSender, saidAt, others } = toSender.right
  const received = { text: given.text, meaningToSender, saidAt, isAnsweredByDefault: false, actor: given.actor }
  const own = { ...given, accountId: given.account.accountId }
  const recorded = await receive(ports, received, own, true)
  if (E.isLeft(recorded)) return recorded
  const byOthers = await receiveForEach(ports, received, others, undefined)
  return E.isLeft(byOthers) ? byOthers : recorded
}

type OptOfAll = SenderOpt & { readonly others: ReadonlyArray<PossibleContact> }

const toNobodyElse: OptOfAll = { ...noOpt, others: [] }

const receiveAtSender = async (
  ports: ReceivingPorts,
  { account: { accountId, sender }, contactId, messageId, text, actor }: ManagementText,
): Promise<Either<Problem, OptOfAll>> => {
  const name = sender?.from ?? ports.sharedSender
  const person = await loadState(ports.commandHandler, contact, contactId)
  if (E.isLeft(person)) return person
  if (name === undefined || person.right.kind !== 'known' || person.right.accountId !== accountId) {
    return E.right(toNobodyElse)
  }
  const { phone } = person.right.details
  const toSender = await recordAtSender(ports, phone, [name], { text, textId: messageId, actor })
  if (E.isLeft(toSender)) return toSender
  if (toSender.right === 'repeated') {
    const known = await loadState(ports.commandHandler, message, messageId)
    if (E.isLeft(known)) return known
    return known.right.kind === 'received' ? E.right(toNobodyElse) : E.left({ kind: 'text-outdated' })
  }
  const said = toSender.right
  if (said.meaning === undefined) return E.right({ ...said, others: [] })
  const to = { phone, providerId: messageId, to: [name], poolOfTo: undefined }
  return pipe(
    recipientsOf(ports, to),
    TE.flatMap(({ meant }) => contactsMeant(ports, said, meant, actor)),
    TE.map((contacts) => ({ ...said, others: contacts.filter((one) => one.contactId !== contactId) })),
  )()
}
