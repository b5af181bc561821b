import { saidTextIdOf, senderOptOutIdOf } from '../../domain/derived-id.js'
import type { SenderOptOutId } from '../../domain/ids.js'
import type { Phone } from '../../domain/phone.js'
import type { CommandHandler, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { meaningOf } from '../../domain/reply-meaning.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import type { Problem } from '../http/problem.js'
import type { InboundText } from './provider.js'

type SenderOptOutPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly clientCommands: ClientCommands
  readonly vault: Pick<Vault, 'serviceSecret'>
}

/** `repeated`: something else was said since. */
type SaidToSender = 'opted-out' | 'opted-in' | 'repeated'

/**
 * What a text says to the sender that it came to, whose names these are, and so to every account that writes from it, now or later.
 * Undefined where that is nothing. What a playbook's own rules take for an opt-out concerns its account alone.
 */
export const saidToSender = async (
  ports: SenderOptOutPorts,
  phone: Phone,
  names: ReadonlyArray<string>,
  { text, providerId, mark }: InboundText,
): Promise<Either<Problem, SaidToSender | undefined>> => {
  const ids = names.map((name) => senderOptOutIdOf(ports.vault.serviceSecret, name, phone))
  const isOptedOut = await isAnyOptedOut(ports, ids)
  if (E.isLeft(isOptedOut)) return isOptedOut
  const meaning = meaningOf(text, { reply_rules: [] }, isOptedOut.right, mark)
  if (meaning !== 'opted_out' && meaning !== 'opted_in') return E.right(undefined)
  const [type, said] =
    meaning === 'opted_out' ? (['OptOutOfSender', 'opted-out'] as const) : (['OptInToSender', 'opted-in'] as const)
  let isRepeated = false
  for (const optOutId of ids) {
    const command = { type, optOutId, textId: saidTextIdOf(optOutId, providerId) }
    const done = await ports.clientCommands.execute(senderOptOut, optOutId, command, 'provider')
    if (E.isLeft(done)) return done
    isRepeated ||= done.right.state.optedOut !== (meaning === 'opted_out')
  }
  return E.right(isRepeated ? 'repeated' : said)
}

const isAnyOptedOut = async (
  { commandHandler }: SenderOptOutPorts,
  ids: ReadonlyArray<SenderOptOutId>,
): Promise<Either<Problem, boolean>> => {
  let isAny = false
  for (const id of ids) {
    const state = await loadState(commandHandler, senderOptOut, id)
    if (E.isLeft(state)) return state
    isAny ||= state.right.optedOut
  }
  return E.right(isAny)
}
