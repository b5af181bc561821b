import { message } from '../../domain/message.js'
import { phoneFromText } from '../../domain/phone.js'
import type { Clock, EventStore } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either } from '../../domain/prelude.js'
import { meaningOf } from '../../domain/reply-meaning.js'
import { playbookVersions, type PlaybookVersions } from '../../projections/follow-up/playbook-versions.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { receivedMessage } from '../commands/received-message.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { adding, answer } from '../http/steps.js'
import { addressedBy, writtenToLast, type Addressed, type AddressedPorts } from './addressed.js'
import type { InboundText, TextProvider } from './provider.js'
import { withSignedForm } from './signed-form.js'

export type InboundPorts = AddressedPorts & {
  readonly store: EventStore
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  /** Counts what concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
}

/** What somebody wrote to the sender that all accounts share. It is stored before the answer, and once however often it comes. */
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
            received(ports, playbookAt, text),
      ),
      answer(204, () => undefined),
    ),
  }
}

/**
 * An opt-out counts in every account that has a contact of the number, since all of them send from one sender; any other text is for the
 * account that wrote to the number last. Nothing is kept of one that is for nobody.
 */
const received = async (
  ports: InboundPorts,
  playbookAt: PlaybookVersions,
  inbound: InboundText,
): Promise<Either<Problem, undefined>> => {
  const phone = phoneFromText(inbound.from)
  const addressed = phone === undefined ? E.right([]) : await addressedBy(ports, phone, inbound.providerId)
  if (E.isLeft(addressed)) return addressed
  const meant = isOptOut(inbound) ? addressed : await ofLast(ports, addressed.right)
  if (E.isLeft(meant)) return meant
  if (meant.right.length === 0) ports.unplaced('text')
  for (const one of meant.right) {
    const facts = await receivedMessage(ports, playbookAt, {
      ...one,
      text: inbound.text,
      answeredAs: inbound.answeredAs,
    })
    if (E.isLeft(facts)) return facts
    const command = { type: 'ReceiveMessage', facts: facts.right } as const
    const done = await ports.clientCommands.execute(message, one.messageId, command, 'provider')
    if (E.isLeft(done)) return done
  }
  return E.right(undefined)
}

/** What a playbook's own rules take for an opt-out concerns its account alone. */
const isOptOut = ({ text, answeredAs }: InboundText): boolean =>
  (answeredAs ?? meaningOf(text, { reply_rules: [] }, false)) === 'opted_out'

const ofLast = async (
  ports: InboundPorts,
  addressed: ReadonlyArray<Addressed>,
): Promise<Either<Problem, ReadonlyArray<Addressed>>> => {
  const last = await writtenToLast(ports, addressed)
  if (E.isLeft(last)) return last
  return E.right(last.right === undefined ? [] : [last.right])
}
