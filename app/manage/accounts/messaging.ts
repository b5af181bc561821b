import { account } from '../../../domain/account.js'
import { t } from '../../../domain/codec.js'
import { ConsentHost, maximalConsentHosts } from '../../../domain/consent.js'
import { flow } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, check, execute, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

/** Null lifts the restriction. */
const MessagingRequest = t.type({ accepted_consent_hosts: t.union([t.null, t.readonlyArray(ConsentHost)]) })

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
      check(({ body: { accepted_consent_hosts: hosts } }) =>
        hosts === null || (hosts.length >= 1 && hosts.length <= maximalConsentHosts) ? undefined : badHosts,
      ),
      execute(({ account: { accountId }, body: { accepted_consent_hosts: hosts }, caller }) =>
        ports.clientCommands.execute(account, accountId, { type: 'AcceptConsentHosts', hosts }, caller.actor),
      ),
      answer(200, ({ body: { accepted_consent_hosts } }) => ({ messaging: { accepted_consent_hosts } })),
    ),
  },
]
