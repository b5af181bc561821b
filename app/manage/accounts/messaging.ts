import { account, type AccountCommand, type AccountState } from '../../../domain/account.js'
import { t } from '../../../domain/codec.js'
import { ConsentHost, maximalConsentHosts } from '../../../domain/consent.js'
import { MessageText } from '../../../domain/message-template.js'
import type { CommandResult } from '../../../domain/ports.js'
import { E, flow, type Either } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, check, execute, withBody } from '../../http/steps.js'
import { withAccount, type OpenAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

/** Null lifts the restriction, leaves it to the provider's default, or gives the service's own words. */
const MessagingRequest = t.strict({
  accepted_consent_hosts: t.union([t.undefined, t.null, t.readonlyArray(ConsentHost)]),
  provider_answers_keywords: t.union([t.undefined, t.null, t.boolean]),
  help_text: t.union([t.undefined, t.null, MessageText], `${MessageText.name}, or null`),
})
type MessagingRequest = t.TypeOf<typeof MessagingRequest>

const nothingSent: Problem = {
  kind: 'invalid',
  messages: ['accepted_consent_hosts, provider_answers_keywords or help_text must be sent'],
}

const badHosts: Problem = {
  kind: 'invalid',
  messages: [`accepted_consent_hosts must be null or a list of 1 to ${maximalConsentHosts} hosts`],
}

/** How an account writes to its contacts. */
export const messagingEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
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

const problemIn = (body: MessagingRequest): Problem | undefined => {
  if (Object.values(body).every((value) => value === undefined)) return nothingSent
  const { accepted_consent_hosts: hosts } = body
  const isBad = hosts !== undefined && hosts !== null && (hosts.length === 0 || hosts.length > maximalConsentHosts)
  return isBad ? badHosts : undefined
}

/** One command for each field that is sent; gives the account as it is then. */
const setMessaging = async (
  ports: ManagePorts,
  before: OpenAccount,
  { accepted_consent_hosts: hosts, provider_answers_keywords: byProvider, help_text: text }: MessagingRequest,
  actor: string,
): Promise<Either<Problem, CommandResult<AccountState>>> => {
  const commands: ReadonlyArray<AccountCommand> = [
    ...(hosts === undefined ? [] : [{ type: 'AcceptConsentHosts', hosts } as const]),
    ...(byProvider === undefined ? [] : [{ type: 'SetKeywordAnswers', byProvider } as const]),
    ...(text === undefined ? [] : [{ type: 'SetHelpText', text } as const]),
  ]
  let result: CommandResult<AccountState> = { state: before, events: [] }
  for (const command of commands) {
    const changed = await ports.clientCommands.execute(account, before.accountId, command, actor)
    if (E.isLeft(changed)) return changed
    result = { state: changed.right.state, events: [...result.events, ...changed.right.events] }
  }
  return E.right(result)
}

const shown = (state: AccountState) =>
  state.kind === 'open'
    ? {
        accepted_consent_hosts: state.consentHosts,
        provider_answers_keywords: state.providerAnswersKeywords,
        help_text: state.helpText,
      }
    : {}
