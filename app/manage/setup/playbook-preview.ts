import { optional, t } from '../../../domain/codec.js'
import { consentOnArrival, type AcceptedHosts } from '../../../domain/consent.js'
import type { FollowUp } from '../../../domain/follow-up.js'
import { PlaybookId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { previewOf } from '../../../domain/playbook-preview.js'
import { flow, TE } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { ownPlaybook } from '../own-playbook.js'
import type { ManagePorts } from '../ports.js'

/** `lead`: its fields, as they would be submitted; `at`: when. */
const PreviewRequest = t.strict({
  lead: optional(t.readonly(t.record(t.string, t.string), 'the fields of a lead as texts')),
  at: optional(InstantFromText),
})

const sampleLead = { first_name: 'Ada', last_name: 'Example', email: 'ada@example.com', phone: '(415) 555-0123' }

/** A lead that is previewed without its consent has one that the account accepts. */
const consentOf = (
  { verifiesConsents }: ManagePorts,
  accepted: AcceptedHosts,
  { tcpa_opt_in_url }: Readonly<Record<string, string>> = {},
): FollowUp['consent'] =>
  consentOnArrival(
    { tcpa_opt_in_url: tcpa_opt_in_url ?? '' },
    tcpa_opt_in_url === undefined ? null : accepted,
    verifiesConsents,
  )

/** Shows what a playbook would send, and sends nothing. */
export const playbookPreviewEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/playbooks/:playbook_id/preview',
    handle: flow(
      withAccount(ports),
      pathId('playbook_id', PlaybookId, { kind: 'playbook-not-found' }),
      TE.bindW('playbook', ({ account, playbook_id }) =>
        ownPlaybook(ports.commandHandler, account.accountId, playbook_id),
      ),
      withBody(PreviewRequest, {}),
      answer(200, ({ account, playbook, body }) =>
        previewOf({
          settings: playbook.settings,
          accountTitle: account.title,
          site: ports.siteUrl(),
          fields: body.lead ?? sampleLead,
          consent: consentOf(ports, account.consentHosts, body.lead),
          submittedAt: body.at ?? ports.clock.now(),
        }),
      ),
    ),
  },
]
