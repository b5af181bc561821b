import { account, sendsFrom } from '../../domain/account.js'
import { engagement } from '../../domain/engagement.js'
import { MessageId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { message, type MessageReport, type MessageState } from '../../domain/message.js'
import type { Clock, CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either } from '../../domain/prelude.js'
import { sender, type SenderCommand } from '../../domain/sender.js'
import { maximalMessageTries, nextMessageTryAt } from '../../domain/retry-schedule.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { answer, bind } from '../http/steps.js'
import type { TextProvider } from './provider.js'
import { withSignedForm } from './signed-form.js'

export type ReportPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  /** Counts what concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
}

/** What the provider tells of a text that it has taken. A report on a message that is not ours is counted, and no more. */
export const reportEndpoint = (ports: ReportPorts, provider: TextProvider): Endpoint<undefined> => ({
  method: 'POST',
  path: '/status/:message_id',
  handle: flow(
    withSignedForm(provider, ({ params }) => `/messaging/twilio/status/${params['message_id'] ?? ''}`),
    bind('report', ({ form }) => pipe(TE.fromEither(provider.reportFrom(form)), TE.mapLeft(invalid))),
    bind(
      'recorded',
      ({ request, report }) =>
        () =>
          recorded(ports, request.params['message_id'], report),
    ),
    answer(204, () => undefined),
  ),
})

const recorded = async (
  ports: ReportPorts,
  id: string | undefined,
  report: MessageReport,
): Promise<Either<Problem, undefined>> => {
  const sent = MessageId.is(id) ? await loadState(ports.commandHandler, message, id) : E.right(undefined)
  if (E.isLeft(sent)) return sent
  if (!MessageId.is(id) || sent.right === undefined || !('attempt' in sent.right)) {
    ports.unplaced('report')
    return E.right(undefined)
  }
  const retryAt = await retryOf(ports, id, sent.right, report)
  if (E.isLeft(retryAt)) return retryAt
  const command = { type: 'ReportMessage', report, retryAt: retryAt.right } as const
  const done = await ports.clientCommands.execute(message, id, command, 'provider')
  if (E.isLeft(done)) return done
  // One that was known says nothing of the sender as it is now.
  return done.right.events.length === 0 ? E.right(undefined) : ofSender(ports, sent.right, report)
}

type Tried = Extract<MessageState, { readonly attempt: number }>

/** What gets through, or does not, tells of the sender too, where the account still sends from it. */
const ofSender = async (
  { commandHandler, clientCommands, clock }: ReportPorts,
  { facts: { account_id: accountId }, sender: from }: Tried,
  report: MessageReport,
): Promise<Either<Problem, undefined>> => {
  const by = { accountId, saidBy: 'report', at: clock.now() } as const
  const command: SenderCommand | undefined =
    report.kind === 'sender-blocked'
      ? { type: 'HoldSender', ...by, reason: report.reason }
      : report.kind === 'delivered'
        ? { type: 'ReleaseSender', ...by }
        : undefined
  if (command === undefined) return E.right(undefined)
  const owner = await loadState(commandHandler, account, accountId)
  if (E.isLeft(owner)) return owner
  if (!sendsFrom(owner.right, from)) return E.right(undefined)
  const done = await clientCommands.execute(sender, accountId, command, 'provider')
  return E.isLeft(done) ? done : E.right(undefined)
}

/** When the message may be tried again; undefined where it is over for good. */
const retryOf = async (
  { commandHandler, clock }: ReportPorts,
  id: MessageId,
  { kind, facts, attempt, dueAt, request }: Tried,
  report: MessageReport,
): Promise<Either<StoreFailure, Instant | undefined>> => {
  const isAllowed = attempt < maximalMessageTries || report.kind === 'sender-blocked'
  const retryAt = kind === 'waiting' ? dueAt : isAllowed ? nextMessageTryAt(attempt, clock.now()) : undefined
  // Of what was asked for it is decided at its next turn whether there is still time.
  if (request !== undefined) return E.right(retryAt)
  const loaded = await loadState(commandHandler, engagement, facts.engagement_id)
  if (E.isLeft(loaded)) return loaded
  const state = loaded.right
  const isLast = state.kind === 'started' && !state.ended && state.followUp?.messageId === id
  if (!isLast) return E.right(undefined)
  const { nextAt } = state.followUp
  // It may have been put off since.
  if (kind === 'waiting') return E.right(nextAt ?? retryAt)
  return E.right(nextAt === undefined ? retryAt : undefined)
}
