import { contact } from '../../domain/contact.js'
import { message } from '../../domain/message.js'
import { phoneFromText } from '../../domain/phone.js'
import type { Clock, EventStore, Vault } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either } from '../../domain/prelude.js'
import { playbookVersions, type PlaybookVersions } from '../../projections/follow-up/playbook-versions.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { receivedMessage } from '../commands/received-message.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { adding, answer } from '../http/steps.js'
import { addressedBy, ofSender, writtenToLast, type Addressed, type AddressedPorts } from './addressed.js'
import type { InboundText, TextProvider } from './provider.js'
import { saidToSender } from './sender-opt-out.js'
import { withSignedForm } from './signed-form.js'

export type InboundPorts = Omit<AddressedPorts, 'sharedSender' | 'vault'> & {
  readonly vault: Pick<Vault, 'accountSecret' | 'serviceSecret'>
  readonly store: EventStore
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  /** Counts what concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
}

/** What somebody wrote to a sender of ours. It is stored before the answer, and once however often it comes. */
export const inboundEndpoint = (ports: InboundPorts, provider: TextProvider): Endpoint<undefined> => {
  const playbookAt = playbookVersions(ports.store)
  return {
    method: 'POST',
    path: '/inbound',
    handle: flow(
      withSignedForm(provider, () => '/messaging/twilio/inbound'),
      adding('text', ({ form }) => pipe(TE.fromEither(provider.textFrom(form)), TE.mapLeft(invalid))),
      adding(
        'received',
        ({ text }) =>
          () =>
            received({ ...ports, sharedSender: provider.sharedSender }, playbookAt, text),
      ),
      answer(204, () => undefined),
    ),
  }
}

/**
 * An opt-out counts in every account of the sender to which it came, and so does who opts in again; any other text is for the account
 * that wrote to the number from there last, which alone answers. Nothing is kept of one that is for nobody.
 */
const received = async (
  ports: InboundPorts & AddressedPorts,
  playbookAt: PlaybookVersions,
  inbound: InboundText,
): Promise<Either<Problem, undefined>> => {
  const phone = phoneFromText(inbound.from)
  if (phone === undefined) {
    ports.unplaced('text')
    return E.right(undefined)
  }
  const everywhere = await addressedBy(ports, phone, inbound.providerId)
  if (E.isLeft(everywhere)) return everywhere
  const addressed = await ofSender(ports, everywhere.right, inbound)
  if (E.isLeft(addressed)) return addressed
  const { cameTo, meant: all } = addressed.right
  const toSender = await saidToSender(ports, phone, cameTo, inbound)
  if (E.isLeft(toSender)) return toSender
  const said = toSender.right
  if (said === 'repeated') return E.right(undefined)
  const contacts = all.filter(({ isKnown }) => isKnown)
  if (said !== undefined) {
    const strangers = all.filter(({ isKnown }) => !isKnown)
    const done = await ofNumber(ports, said, strangers)
    if (E.isLeft(done)) return done
  }
  const last = await writtenToLast(ports, contacts, cameTo)
  if (E.isLeft(last)) return last
  const answering = last.right ?? (said === undefined ? undefined : contacts[0])
  if (answering === undefined && said === undefined) ports.unplaced('text')
  const others = said === undefined ? [] : contacts.filter((one) => one !== answering)
  // It answers first, so that a request which is repeated finds the same one.
  for (const one of answering === undefined ? [] : [answering, ...others]) {
    const done = await receive(ports, playbookAt, inbound, { ...one, mayAnswer: one === answering })
    if (E.isLeft(done)) return done
  }
  return E.right(undefined)
}

/** `mayAnswer`: of the accounts that share a sender one does. */
const receive = async (
  ports: InboundPorts,
  playbookAt: PlaybookVersions,
  { text, providerId, mark }: InboundText,
  { messageId, accountId, contactId, mayAnswer }: Addressed & { readonly mayAnswer: boolean },
): Promise<Either<Problem, undefined>> => {
  // Twilio answers its keywords unless one has told it not to.
  const arrived = { messageId, accountId, contactId, text, providerId, mark, isAnsweredByDefault: true }
  const facts = await receivedMessage(ports, playbookAt, { ...arrived, mayAnswer })
  if (E.isLeft(facts)) return facts
  const command = { type: 'ReceiveMessage', facts: facts.right } as const
  const done = await ports.clientCommands.execute(message, messageId, command, 'provider')
  return E.isLeft(done) ? done : E.right(undefined)
}

/** Where an account has no contact of the number yet, that is all that it keeps of it. */
const ofNumber = async (
  { clientCommands }: InboundPorts,
  said: 'opted-out' | 'opted-in',
  strangers: ReadonlyArray<Addressed>,
): Promise<Either<Problem, undefined>> => {
  const type = said === 'opted-out' ? 'OptOutNumber' : 'OptInNumber'
  for (const { contactId, accountId } of strangers) {
    const done = await clientCommands.execute(contact, contactId, { type, contactId, accountId }, 'provider')
    if (E.isLeft(done) && done.left.kind !== 'lead-forgotten') return E.left(done.left)
  }
  return E.right(undefined)
}
