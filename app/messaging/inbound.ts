import { phoneFromText } from '../../domain/phone.js'
import type { EventStore, Time } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either } from '../../domain/prelude.js'
import { playbookVersions, type PlaybookVersions } from '../../projections/follow-up/playbook-versions.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { isShownBy, type Showing } from '../commands/states/shown-by.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { answer, bind } from '../http/steps.js'
import { addressedBy, ofSender, writtenToLast } from './addressed.js'
import { receiveForEach, type ReceivingPorts } from './received-text.js'
import type { InboundText, TextProvider } from './provider.js'
import { mayMeanToSender, saidByStrangers, saidToSender } from './sender-opt-out.js'
import { withSignedForm } from './signed-form.js'

export type InboundPorts = Omit<ReceivingPorts, 'sharedSender'> & {
  readonly store: EventStore
  readonly time: Pick<Time, 'sleep'>
  /** What maintains the read models that tell who wrote to whom. */
  readonly showing: ReadonlyArray<Showing & Pick<LeasedFollower, 'failure'>>
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
      bind('text', ({ form }) => pipe(TE.fromEither(provider.textFrom(form)), TE.mapLeft(invalid))),
      bind(
        'received',
        ({ text }) =>
          () =>
            received({ ...ports, sharedSender: provider.sharedSender }, playbookAt, text),
      ),
      answer(204, () => undefined),
    ),
  }
}

/** In milliseconds: Twilio waits for fifteen seconds, and a takeover of read models takes ten at most. */
const longestWait = 11_000

const newestNotShown: Problem = { kind: 'unavailable', reason: 'the newest messages are not shown yet' }

/**
 * Whether the newest messages are shown: a telephone may answer sooner than read models show what it got. An opt-out waits for nothing:
 * what it says to the sender rests on no read model. Where one has stopped a text goes by what it shows, else none could be received until
 * somebody mends it.
 */
const areNewestShown = async (
  { store, time, showing }: InboundPorts,
  { text, mark }: InboundText,
): Promise<Either<Problem, boolean>> => {
  if (mayMeanToSender(text, mark) === 'opted_out') return E.right(true)
  const following = showing.filter(({ failure }) => failure() === undefined)
  const head = await store.head()
  return E.isLeft(head) ? head : E.right(await isShownBy(time, following, head.right, longestWait))
}

/**
 * An opt-out counts in every account of the sender to which it came, and so does who opts in again; any other text is for the account
 * that wrote to the number from there last, which alone answers. Nothing is kept of one that is for nobody.
 */
const received = async (
  ports: InboundPorts & ReceivingPorts,
  playbookAt: PlaybookVersions,
  inbound: InboundText,
): Promise<Either<Problem, undefined>> => {
  const { text, providerId, mark } = inbound
  const phone = phoneFromText(inbound.from)
  if (phone === undefined) {
    ports.unplaced('text')
    return E.right(undefined)
  }
  const areShown = await areNewestShown(ports, inbound)
  if (E.isLeft(areShown)) return areShown
  const everywhere = await addressedBy(ports, phone, providerId)
  if (E.isLeft(everywhere)) return everywhere
  const addressed = await ofSender(ports, everywhere.right, inbound)
  if (E.isLeft(addressed)) return addressed
  const { cameTo, meant } = addressed.right
  const toSender = await saidToSender(ports, phone, cameTo, { text, textId: providerId, mark, actor })
  if (E.isLeft(toSender)) return toSender
  if (toSender.right === 'repeated') return E.right(undefined)
  const { said, saidAt } = toSender.right
  if (said === undefined && !areShown.right) return E.left(newestNotShown)
  const notShown = said === undefined ? E.right([]) : await saidByStrangers(ports, said, meant, actor)
  if (E.isLeft(notShown)) return notShown
  const contacts = [...meant.filter(({ isKnown }) => isKnown), ...notShown.right]
  const last = await writtenToLast(ports, contacts, cameTo)
  if (E.isLeft(last)) return last
  const answering = last.right ?? (said === undefined ? undefined : contacts[0])
  if (answering === undefined && said === undefined) ports.unplaced('text')
  const others = said === undefined ? [] : contacts.filter((one) => one !== answering)
  // Twilio answers its keywords unless one has told it not to.
  const receivedText = { text, said, saidAt, providerId, mark, isAnsweredByDefault: true, actor }
  // It answers first, so that a request which is repeated finds the same one.
  return receiveForEach(
    ports,
    playbookAt,
    receivedText,
    answering === undefined ? [] : [answering, ...others],
    answering,
  )
}

/** As the log names it. */
const actor = 'provider'
