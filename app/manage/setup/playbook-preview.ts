import type { OpenAccount } from '../../../domain/account.js'
import { objectWith, optional, t } from '../../../domain/codec.js'
import { consentOnArrival, type AcceptedHosts } from '../../../domain/consent.js'
import type { FollowUp } from '../../../domain/follow-up.js'
import { PlaybookId } from '../../../domain/ids.js'
import { InstantFromText, monthOf } from '../../../domain/instant.js'
import { previewOf, type SegmentLimit } from '../../../domain/playbook-preview.js'
import { E, flow, pipe, TE, type TaskEither } from '../../../domain/prelude.js'
import { sendingHold } from '../../../domain/sending-hold.js'
import { decodeSample } from '../../../domain/submission.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { ownPlaybook } from '../own-playbook.js'
import type { ManagePorts } from '../ports.js'

/** `lead`: its fields, as they would be submitted; `at`: when. */
const PreviewRequest = objectWith({
  lead: optional(t.readonly(t.record(t.string, t.unknown), 'the fields of a lead')),
  at: optional(InstantFromText),
})

const sampleLead = { first_name: 'Ada', last_name: 'Example', email: 'ada@example.com', phone: '(415) 555-0123' }

const incomplete = (messages: ReadonlyArray<string>): Problem => ({ kind: 'invalid', messages })

/** A lead that is previewed without its consent has one that the account accepts. */
const consentOf = (
  { verifiesConsents }: ManagePorts,
  accepted: AcceptedHosts,
  url: string | undefined,
): FollowUp['consent'] =>
  consentOnArrival({ tcpa_opt_in_url: url ?? '' }, url === undefined ? null : accepted, verifiesConsents)

/** Segments that the account may send, and has sent in this month; undefined where nothing limits them. */
const limitOf = (
  { queries, clock }: ManagePorts,
  { accountId, segmentsPerMonth: perMonth }: OpenAccount,
): TaskEither<Problem, SegmentLimit | undefined> => {
  if (perMonth === null) return TE.right(undefined)
  const month = monthOf(clock.now())
  return pipe(
    () => queries.usage(accountId, month),
    TE.map(({ segments: used }) => ({ perMonth, month, used })),
  )
}

/** Shows what a playbook would send, and sends nothing. */
export const playbookPreviewEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/playbooks/:playbook_id/preview',
    handle: flow(
      withAccount(ports),
      pathId('playbook_id', PlaybookId, { kind: 'playbook-not-found' }),
      bind('playbook', ({ account, playbook_id }) => ownPlaybook(ports.commandHandler, account.accountId, playbook_id)),
      withBody(PreviewRequest),
      TE.let('submittedAt', ({ body }) => body.at ?? ports.clock.now()),
      bind('sample', ({ playbook: { settings }, body, submittedAt }) =>
        E.mapLeft(incomplete)(decodeSample(settings.required_fields, submittedAt, body.lead ?? sampleLead)),
      ),
      bind('hold', ({ account }) => loadState(ports.commandHandler, sendingHold, account.accountId)),
      bind('limit', ({ account }) => limitOf(ports, account)),
      answer(200, ({ account, playbook, sample, hold: { held }, limit, submittedAt }) =>
        previewOf({
          settings: playbook.settings,
          account: { title: account.title, enabled: account.enabled, held, limit },
          site: ports.siteUrl(),
          fields: sample.fields,
          consent: consentOf(ports, account.consentHosts, sample.consentUrl),
          submittedAt,
        }),
      ),
    ),
  },
]
