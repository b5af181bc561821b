import { account, type AccountCommand, type AccountState, type OpenAccount } from '../../../domain/account.js'
import { NaturalNumber, objectWith, refined, t } from '../../../domain/codec.js'
import { ConsentHost, mostConsentHosts } from '../../../domain/consent.js'
import { MessageText } from '../../../domain/message-template.js'
import type { CommandResult } from '../../../domain/ports.js'
import { E, flow, type Either } from '../../../domain/prelude.js'
import { sendingHold, type SendingHoldState } from '../../../domain/sending-hold.js'
import { SenderName } from '../../../domain/sender-name.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, check, execute, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const mostPerSecond = 1_000

const Rate = refined(
  `a number above 0 and up to ${mostPerSecond}`,
  (value): value is number => typeof value === 'number' && value > 0 && value <= mostPerSecond,
)

const SenderRequest = objectWith({
  from: SenderName,
  messages_per_second: t.union([t.undefined, t.null, Rate], `${Rate.name}, or null`),
})

const hostsName = `null or a list of 1 to ${mostConsentHosts} hosts`

/** Null lifts the restriction, leaves it to the provider's default, or gives the service's own words. */
const MessagingRequest = objectWith({
  accepted_consent_hosts: t.union([t.undefined, t.null, t.readonlyArray(ConsentHost)], hostsName),
  provider_answers_keywords: t.union([t.undefined, t.null, t.boolean], 'true, false or null'),
  help_text: t.union([t.undefined, t.null, MessageText], `${MessageText.name}, or null`),
  sender: t.union([t.undefined, t.null, SenderRequest], `${SenderRequest.name}, or null`),
  segments_per_month: t.union([t.undefined, t.null, NaturalNumber], `${NaturalNumber.name}, or null`),
  // It can't be set, but what GET answers can be sent back.
  held: t.unknown,
})
type MessagingRequest = t.TypeOf<typeof MessagingRequest>

const nothingSent: Problem = {
  kind: 'invalid',
  messages: ['accepted_consent_hosts, provider_answers_keywords, help_text, sender or segments_per_month must be sent'],
}

const badHosts: Problem = {
  kind: 'invalid',
  messages: [`accepted_consent_hosts must be ${hostsName}`],
}

/** How an account writes to its contacts. */
export const messagingEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/messaging',
    handle: flow(
      withAccount(ports),
      bind('hold', ({ account: { accountId } }) => loadState(ports.commandHandler, sendingHold, accountId)),
      answer(200, ({ account: owner, hold: { held } }) => ({
        messaging: { ...shown(owner), held: held === undefined ? null : shownHold(held) },
      })),
    ),
  },
  {
    method: 'PUT',
    path: '/accounts/:account_id/messaging',
    handle: flow(
      withAccount(ports),
      withBody(MessagingRequest),
      check(({ body }) => problemIn(body)),
      execute(({ account: before, body, caller }) => setMessaging(ports, before, body, caller.actor)),
      answer(200, ({ result: { state } }) => ({ messaging: shown(state) })),
    ),
  },
]

const problemIn = ({ held: _held, ...body }: MessagingRequest): Problem | undefined => {
  if (Object.values(body).every((value) => value === undefined)) return nothingSent
  const { accepted_consent_hosts: hosts } = body
  const isBad = hosts !== undefined && hosts !== null && (hosts.length === 0 || hosts.length > mostConsentHosts)
  return isBad ? badHosts : undefined
}

/** One command for each field that is sent; gives the account as it is then. */
const setMessaging = async (
  ports: ManagePorts,
  before: OpenAccount,
  request: MessagingRequest,
  actor: string,
): Promise<Either<Problem, CommandResult<AccountState>>> => {
  const { accepted_consent_hosts: hosts, provider_answers_keywords: byProvider, help_text: text } = request
  const { sender, segments_per_month: segmentsPerMonth } = request
  const commands: ReadonlyArray<AccountCommand> = [
    ...(hosts === undefined ? [] : [{ type: 'AcceptConsentHosts', hosts } as const]),
    ...(byProvider === undefined ? [] : [{ type: 'SetKeywordAnswers', byProvider } as const]),
    ...(text === undefined ? [] : [{ type: 'SetHelpText', text } as const]),
    ...(sender === undefined ? [] : [{ type: 'SetSender', sender: sender && withRate(sender) } as const]),
    ...(segmentsPerMonth === undefined ? [] : [{ type: 'LimitSegments', segmentsPerMonth } as const]),
  ]
  let result: CommandResult<AccountState> = { state: before, events: [] }
  for (const command of commands) {
    const changed = await ports.clientCommands.execute(account, before.accountId, command, actor)
    if (E.isLeft(changed)) return changed
    result = { state: changed.right.state, events: [...result.events, ...changed.right.events] }
  }
  if (!result.events.some(({ type }) => type === 'SenderSet')) return E.right(result)
  // Trouble of the sender before says nothing of this one.
  const release = {
    type: 'ReleaseSender',
    accountId: before.accountId,
    saidBy: 'operator',
    at: ports.clock.now(),
  } as const
  const released = await ports.clientCommands.execute(sendingHold, before.accountId, release, actor)
  return E.isLeft(released) ? released : E.right(result)
}

const withRate = ({ from, messages_per_second = null }: t.TypeOf<typeof SenderRequest>) => ({
  from,
  messages_per_second,
})

const shown = (state: AccountState) =>
  state.kind === 'open'
    ? {
        accepted_consent_hosts: state.consentHosts,
        provider_answers_keywords: state.providerAnswersKeywords,
        help_text: state.helpText,
        sender: state.sender,
        segments_per_month: state.segmentsPerMonth,
      }
    : {}

const shownHold = ({ since, until, reason }: NonNullable<SendingHoldState['held']>) => ({ since, until, reason })
