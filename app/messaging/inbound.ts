import { phoneFromText, type Phone } from '../../domain/phone.js'
import type { EventStore, MonotonicClock } from '../../domain/ports.js'
import { E, flow, pipe, TE, type TaskEither } from '../../domain/prelude.js'
import type { InboundText, TextProvider } from '../../domain/text-provider.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { haveCaughtUp, type ReadModelFollower } from '../commands/caught-up-read-models.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { answer, bind, chain, check } from '../http/steps.js'
import { recipientsOf, writtenToLast, type PossibleContact, type TextRecipients } from './recipients.js'
import { inboundPathOf } from './paths.js'
import { contactsMeant, receiveForEach, type ReceivingPorts } from './text-recording.js'
import { mayMeanToSender, recordAtSender, type SenderOpt } from './sender-opt-out.js'
import { withSignedForm } from './signed-form.js'

export type InboundPorts = Omit<ReceivingPorts, 'sharedSender'> & {
  readonly store: Pick<EventStore, 'head'>
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  /** What maintains the read models that tell who wrote to whom. */
  readonly readModelFollowers: ReadonlyArray<ReadModelFollower & Pick<LeasedFollower, 'failure'>>
  /** Counts what concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
}

/** What somebody wrote to a sender of ours. It is stored before the answer, and once however often it comes. */
export const inboundEndpoint = (ports: InboundPorts, provider: TextProvider): Endpoint<undefined> => {
  const { sharedSender, timeLimit, answersKeywords } = provider
  const receiving = { ...ports, sharedSender, answersKeywords, longestWait: timeLimit - recordingTime }
  return {
    method: 'POST',
    path: '/inbound',
    handle: flow(
      withSignedForm(provider, () => inboundPathOf(provider)),
      bind('inbound', ({ form }) => E.mapLeft(invalid)(provider.textFrom(form))),
      bind('received', ({ inbound }) => receiveText(receiving, inbound)),
      answer(204, () => undefined),
    ),
  }
}

type Receiving = InboundPorts &
  ReceivingPorts &
  Pick<TextProvider, 'answersKeywords'> & {
    /** In milliseconds. */
    readonly longestWait: number
  }

/**
 * An opt-out counts in every account of the sender to which it came, and so does who opts in again; any other text is
 * for the account that wrote to the number from there last, which alone answers. Nothing is kept of one that is for
 * nobody.
 */
const receiveText = (ports: Receiving, inbound: InboundText): TaskEither<Problem, undefined> => {
  const phone = phoneFromText(inbound.from)
  if (phone === undefined) {
    ports.unplaced('text')
    return TE.right(undefined)
  }
  return pipe(
    TE.Do,
    bind('areShown', () => areNewestShown(ports, inbound)),
    bind('recipients', () => recipientsOf(ports, { ...inbound, phone })),
    bind('toSender', ({ recipients }) => toSenderOf(ports, inbound, phone, recipients.senderNames)),
    check(({ areShown, toSender }) => (areShown || saysSomething(toSender) ? undefined : newestNotShown)),
    chain(({ recipients, toSender }) =>
      toSender === 'repeated' ? TE.right(undefined) : recordText(ports, inbound, recipients, toSender),
    ),
  )
}

const toSenderOf =
  (
    ports: Receiving,
    { text, providerId: textId, mark }: InboundText,
    phone: Phone,
    senderNames: ReadonlyArray<string>,
  ): TaskEither<Problem, SenderOpt | 'repeated'> =>
  () =>
    recordAtSender(ports, phone, senderNames, { text, textId, mark, actor })

/** For such a text it does not matter who wrote to whom last. */
const saysSomething = (toSender: SenderOpt | 'repeated'): boolean =>
  toSender === 'repeated' || toSender.meaning !== undefined

const recordText = (
  ports: Receiving,
  inbound: InboundText,
  { senderNames, meant }: TextRecipients,
  toSender: SenderOpt,
): TaskEither<Problem, undefined> =>
  pipe(
    TE.Do,
    bind('contacts', () => contactsMeant(ports, toSender, meant, actor)),
    bind('last', ({ contacts }) => writtenToLast(ports, contacts, senderNames)),
    chain(({ contacts, last }) => recordForContacts(ports, inbound, toSender, contacts, last)),
  )

/** `last`: the one of the contacts that was written to last. */
const recordForContacts =
  (
    ports: Receiving,
    { text, providerId, mark }: InboundText,
    { meaning: meaningToSender, saidAt }: SenderOpt,
    contacts: ReadonlyArray<PossibleContact>,
    last: PossibleContact | undefined,
  ): TaskEither<Problem, undefined> =>
  () => {
    const answering = last ?? (meaningToSender === undefined ? undefined : contacts[0])
    if (answering === undefined && meaningToSender === undefined) ports.unplaced('text')
    const others = meaningToSender === undefined ? [] : contacts.filter((one) => one !== answering)
    // It answers first, so that a request which is repeated finds the same one.
    const recipients = answering === undefined ? [] : [answering, ...others]
    const isAnsweredByDefault = ports.answersKeywords
    const receivedText = { text, meaningToSender, saidAt, providerId, mark, isAnsweredByDefault, actor }
    return receiveForEach(ports, receivedText, recipients, answering)
  }

/** As the log names it. */
const actor = 'provider'

/**
 * In milliseconds: so much of the provider's time limit is left for the record. The rest is to hold a takeover of read
 * models, which takes ten seconds at most.
 */
const recordingTime = 4_000

const newestNotShown: Problem = { kind: 'unavailable', reason: 'the newest messages are not shown yet' }

/**
 * Whether the newest messages are shown: a telephone may answer sooner than read models show what it got. An opt-out
 * waits for nothing: what it says to the sender rests on no read model. Where one has stopped a text goes by what it
 * shows, else none could be received until somebody mends it.
 */
const areNewestShown =
  (
    { store, monotonic, readModelFollowers, longestWait }: Receiving,
    { text, mark }: InboundText,
  ): TaskEither<Problem, boolean> =>
  async () => {
    if (mayMeanToSender(text, mark) === 'opted_out') return E.right(true)
    const following = readModelFollowers.filter(({ failure }) => failure() === undefined)
    const head = await store.head()
    return E.isLeft(head) ? head : E.right(await haveCaughtUp(monotonic, following, head.right, longestWait))
  }
