import { contact, type OptChange } from '../../domain/contact.js'
import { saidTextIdOf, senderOptOutIdOf } from '../../domain/derived-id.js'
import { strictlyAfter, type Instant } from '../../domain/instant.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Phone } from '../../domain/phone.js'
import type { Clock, CommandHandler, Logger, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { meaningOf, type ProviderMark, type ReplyMeaning } from '../../domain/reply-meaning.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import { engagementsNotEnded, type Problem } from '../http/problem.js'
import { unreadableAccount, type PossibleContact } from './recipients.js'

type SenderOptOutPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly clientCommands: ClientCommands
  readonly vault: Pick<Vault, 'serviceSecret'>
  readonly clock: Pick<Clock, 'now'>
}

/** What a text means to the sender that it came to, where it means something. */
export type OptMeaning = OptChange['meaning']

export type SenderOpt = {
  /** Undefined where it means nothing to the sender. */
  readonly meaning: OptMeaning | undefined
  /** Its order at the sender. */
  readonly saidAt: Instant | undefined
  /** Whether it takes back an opt-out of the sender. */
  readonly takesBack: boolean
}

type SaidToSender = SenderOpt & { readonly meaning: OptMeaning }

export const noOpt: SenderOpt = { meaning: undefined, saidAt: undefined, takesBack: false }

/** A text, known by `textId` however often it comes. */
type SenderText = {
  readonly text: string
  readonly textId: string
  readonly mark?: ProviderMark | undefined
  readonly actor: string
}

/**
 * Records what a text says to the sender that it came to, whose names these are, and so to every account that writes
 * from it, now or later. `repeated` where something else was said since. What a playbook's own rules take for an
 * opt-out concerns its account alone.
 */
export const recordAtSender = async (
  ports: SenderOptOutPorts,
  phone: Phone,
  names: ReadonlyArray<string>,
  { text, textId, mark, actor }: SenderText,
): Promise<Either<Problem, SenderOpt | 'repeated'>> => {
  const possible = mayMeanToSender(text, mark)
  if (possible !== 'opted_out' && possible !== 'opted_in') return E.right(noOpt)
  const optsOut = possible === 'opted_out'
  const type = optsOut ? 'OptOutOfSender' : 'OptInToSender'
  // The first stream decides the order of texts, so every process writes to the same one first: a pool before its
  // numbers.
  const commands = names
    .toSorted((one, other) => (one < other ? 1 : -1))
    .map((name) => {
      const optOutId = senderOptOutIdOf(ports.vault.serviceSecret, name, phone)
      return { type, optOutId, textId: saidTextIdOf(optOutId, textId) } as const
    })
  let at = ports.clock.now()
  // A crash may have kept the text from some of the names. If a newer text was recorded since, this one counts for none
  // of them.
  for (const command of commands) {
    const before = await loadState(ports.commandHandler, senderOptOut, command.optOutId)
    if (E.isLeft(before)) return before
    const { optedOut, texts, saidAt } = before.right
    if (texts.includes(command.textId) && optedOut !== optsOut) return E.right('repeated')
    at = strictlyAfter(saidAt, at)
  }
  let takesBack = false
  let saidAt: Instant | undefined
  for (const command of commands) {
    const dated = { ...command, at, saidAt }
    const done = await ports.clientCommands.execute(senderOptOut, command.optOutId, dated, actor)
    if (E.isLeft(done)) return done
    const { events, state } = done.right
    if (events.length === 0 && state.optedOut !== optsOut) return E.right('repeated')
    saidAt ??= saidAtIn(events) ?? state.saidAt
    takesBack ||= state.optedInBy === command.textId
  }
  if (optsOut || takesBack) return E.right({ meaning: possible, saidAt, takesBack })
  // A YES is an answer like any other where nobody opted out.
  const isOptIn = meaningOf(text, noRules, false, mark) === 'opted_in'
  return E.right({ meaning: isOptIn ? 'opted_in' : undefined, saidAt, takesBack })
}

const saidAtIn = (events: ReadonlyArray<DomainEvent>): Instant | undefined => {
  const [event] = events
  return event?.type === 'OptedOutOfSender' || event?.type === 'OptedInToSender' ? event.data.said_at : undefined
}

const noRules = { reply_rules: [] }

/** What a text would say to a sender of which its number has opted out: a YES is an opt-in only then. */
export const mayMeanToSender = (text: string, mark: ProviderMark | undefined): ReplyMeaning =>
  meaningOf(text, noRules, true, mark)

type StrangerPorts = Pick<SenderOptOutPorts, 'commandHandler' | 'clientCommands'> & {
  readonly logger: Pick<Logger, 'error'>
}

/**
 * Records an opt-out, or an opt-in, for accounts without a contact of the number. Returns the contacts that no read
 * model shows yet: the text is still to be recorded for them. An account that can't be read holds up no other.
 */
export const recordForStrangers = async (
  ports: StrangerPorts,
  said: SaidToSender,
  meant: ReadonlyArray<PossibleContact>,
  actor: string,
): Promise<Either<Problem, ReadonlyArray<PossibleContact>>> => {
  const notShown: Array<PossibleContact> = []
  for (const one of meant.filter(({ isKnown }) => !isKnown)) {
    const isContact = await recordForStranger(ports, said, one, actor)
    if (E.isRight(isContact)) notShown.push(...(isContact.right ? [{ ...one, isKnown: true }] : []))
    else if (isContact.left.kind !== 'corrupt') return isContact
    else ports.logger.error({ account: one.accountId, reason: isContact.left.reason }, unreadableAccount)
  }
  return E.right(notShown)
}

/** Whether the account has a contact of the number; where it has not, records what the number says. */
const recordForStranger = async (
  { commandHandler, clientCommands }: StrangerPorts,
  { meaning, saidAt, takesBack }: SaidToSender,
  { contactId, accountId, optedOutBefore: hasOptedOut }: PossibleContact,
  actor: string,
): Promise<Either<Problem, boolean>> => {
  const person = await loadState(commandHandler, contact, contactId)
  if (E.isLeft(person)) return person
  if (person.right.kind === 'known') return E.right(true)
  const type = meaning === 'opted_out' ? 'OptOutNumber' : 'OptInNumber'
  // A lead may have come before the contact is there, and it remembers what was known of the sender then.
  const optedOutBefore = hasOptedOut || takesBack
  const command = { type, contactId, accountId, optedOutBefore, saidAt } as const
  const done = await clientCommands.execute(contact, contactId, command, actor)
  if (E.isLeft(done) && done.left.kind !== 'lead-not-remembered') return E.left(done.left)
  if (E.isRight(done) && done.right.isPending && meaning === 'opted_out') return E.left(engagementsNotEnded)
  return E.right(false)
}
