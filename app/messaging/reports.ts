import { account, sendsFrom } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { engagement } from '../../domain/engagement.js'
import { MessageId, type ActivityReportId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { isOutbound, message, type MessageReport, type OutboundMessage } from '../../domain/message.js'
import type { Clock, CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, flow, pipe, TE, type TaskEither } from '../../domain/prelude.js'
import { messageRetryAt } from '../../domain/retry-schedule.js'
import { optOutReportOfText } from '../../domain/saying.js'
import { sendingHold, holdCommandFor } from '../../domain/sending-hold.js'
import type { TextProvider } from '../../domain/text-provider.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import { answer, bind, chain, execute } from '../http/steps.js'
import { reportPathOf } from './paths.js'
import { withSignedForm } from './signed-form.js'

export type ReportPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  /** Counts what concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
}

/**
 * What the provider tells of a text that it has taken. A report on a message that is not ours is counted, and no more.
 */
export const reportEndpoint = (ports: ReportPorts, provider: TextProvider): Endpoint<undefined> => ({
  method: 'POST',
  path: '/status/:message_id',
  handle: flow(
    withSignedForm(provider, ({ params }) => reportPathOf(provider, params['message_id'] ?? '')),
    bind('report', ({ form }) => E.mapLeft(invalid)(provider.reportFrom(form))),
    bind('sent', ({ request }) => sentMessage(ports, request.params['message_id'])),
    bind('recorded', ({ sent, report }) => recorded(ports, sent, report)),
    answer(204, () => undefined),
  ),
})

type Sent = { readonly id: MessageId; readonly state: OutboundMessage }

/** Undefined where no such message went out. */
const sentMessage =
  ({ commandHandler }: ReportPorts, id: string | undefined): TaskEither<Problem, Sent | undefined> =>
  async () => {
    if (!MessageId.is(id)) return E.right(undefined)
    const loaded = await loadState(commandHandler, message, id)
    if (E.isLeft(loaded)) return loaded
    return E.right(isOutbound(loaded.right) ? { id, state: loaded.right } : undefined)
  }

const recorded = (
  ports: ReportPorts,
  sent: Sent | undefined,
  report: MessageReport,
): TaskEither<Problem, undefined> => {
  if (sent === undefined) {
    ports.unplaced('report')
    return TE.right(undefined)
  }
  return pipe(
    TE.Do,
    bind('retryAt', () => retryAtOf(ports, sent, report)),
    bind('reportId', () => optOutReport(ports, sent, report)),
    execute(({ retryAt, reportId }) => {
      const command = { type: 'ReportMessage', report, retryAt, reportId } as const
      return ports.clientCommands.execute(message, sent.id, command, 'provider')
    }),
    // One that was known says nothing of the sender as it is now.
    chain(({ result }) =>
      result.events.length === 0 ? TE.right(undefined) : holdOrRelease(ports, sent.state, report),
    ),
  )
}

const holdOrRelease =
  (
    { commandHandler, clientCommands, clock }: ReportPorts,
    { facts: { account_id: accountId }, sender: from }: OutboundMessage,
    report: MessageReport,
  ): TaskEither<Problem, undefined> =>
  async () => {
    const command = holdCommandFor(report, { accountId, saidBy: 'report', at: clock.now() })
    // Most reports tell nothing of the sender: then the account is not read.
    if (command === undefined) return E.right(undefined)
    const owner = await loadState(commandHandler, account, accountId)
    if (E.isLeft(owner)) return owner
    if (!sendsFrom(owner.right, from)) return E.right(undefined)
    const done = await clientCommands.execute(sendingHold, accountId, command, 'provider')
    return E.isLeft(done) ? done : E.right(undefined)
  }

/** What an opt-out that is reported stands for; undefined where the contact has opted out. */
const optOutReport =
  (
    { commandHandler }: ReportPorts,
    { state: { facts, begunAt } }: Sent,
    { kind }: MessageReport,
  ): TaskEither<StoreFailure, ActivityReportId | undefined> =>
  async () => {
    if (kind !== 'opted-out') return E.right(undefined)
    const loaded = await loadState(commandHandler, contact, facts.contact_id)
    if (E.isLeft(loaded)) return loaded
    const person = loaded.right
    if (person.kind !== 'known' || person.optedOut) return E.right(undefined)
    return E.right(optOutReportOfText(facts.contact_id, person, begunAt))
  }

/** When the message may be tried again; undefined where it is over for good. */
const retryAtOf =
  (
    { commandHandler, clock }: ReportPorts,
    { id, state: { kind, facts, attempt, dueAt, request } }: Sent,
    report: MessageReport,
  ): TaskEither<StoreFailure, Instant | undefined> =>
  async () => {
    const retryAt = kind === 'waiting' ? dueAt : messageRetryAt(attempt, report.kind, clock.now())
    // Of a requested message its next task decides whether there is still time.
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
