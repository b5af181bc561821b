import { day } from '../../../domain/duration.js'
import { engagement } from '../../../domain/engagement.js'
import { EngagementId, PlaybookId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { E, flow, TE, type Either } from '../../../domain/prelude.js'
import { followUps, type FollowUpDocument } from '../../../projections/read-models/follow-ups.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withoutFields } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { ownPlaybook } from '../own-playbook.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'

/** In milliseconds: how long a person may take over before the playbook goes on. */
const longestPause = 7 * day

/** The engagements that playbooks follow up: which there are, and a person who takes one over. */
export const followUpEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/follow_ups',
    handle: flow(
      withAccount(ports),
      bind('state', ({ request }) => stateIn(request)),
      bind('playbookId', ({ request }) => playbookIdIn(request)),
      bind('playbook', ({ account: { accountId }, playbookId }) =>
        playbookId === undefined ? TE.right(undefined) : ownPlaybook(ports.commandHandler, accountId, playbookId),
      ),
      withPage(ports.queries, followUps, ({ account, state, playbookId }) => ({
        index: playbookId === undefined ? 'by_account' : 'by_playbook',
        equals: [`${playbookId ?? account.accountId}/${state}`],
        descending: true,
      })),
      answer(200, ({ page }) => ({ follow_ups: page.documents.map(shown), next_cursor: page.next_cursor })),
    ),
  },
  {
    method: 'POST',
    path: '/accounts/:account_id/engagements/:engagement_id/pause',
    handle: flow(
      withAccount(ports),
      pathId('engagement_id', EngagementId, { kind: 'engagement-not-found' }),
      withoutFields(),
      execute(({ account: { accountId }, engagement_id, caller }) => {
        const command = { type: 'PauseEngagement', accountId, until: later(ports.clock.now(), longestPause) } as const
        return ports.clientCommands.execute(engagement, engagement_id, command, caller.actor)
      }),
      answer(200, ({ engagement_id: id, result: { state } }) => ({
        follow_up: { next_engagement_id: id, paused_until: (state.kind === 'started' && state.pausedUntil) || null },
      })),
    ),
  },
  {
    method: 'POST',
    path: '/accounts/:account_id/engagements/:engagement_id/resume',
    handle: flow(
      withAccount(ports),
      pathId('engagement_id', EngagementId, { kind: 'engagement-not-found' }),
      withoutFields(),
      execute(({ account: { accountId }, engagement_id, caller }) => {
        const command = { type: 'ResumeEngagement', accountId } as const
        return ports.clientCommands.execute(engagement, engagement_id, command, caller.actor)
      }),
      answer(200, ({ engagement_id: id }) => ({ follow_up: { next_engagement_id: id, paused_until: null } })),
    ),
  },
]

const states: ReadonlySet<string> = new Set<FollowUpDocument['state']>(['running', 'paused', 'ended'])

const stateIn = ({ query }: Request): Either<Problem, string> => {
  const state = query('state') ?? 'running'
  return states.has(state)
    ? E.right(state)
    : E.left({ kind: 'invalid', messages: ['state must be running, paused or ended'] })
}

const playbookIdIn = ({ query }: Request): Either<Problem, PlaybookId | undefined> => {
  const id = query('playbook_id')
  return id === undefined || PlaybookId.is(id)
    ? E.right(id)
    : E.left({ kind: 'invalid', messages: [`playbook_id must be ${PlaybookId.name}`] })
}

/** `next_step_at`: after the pause, or the call, that holds the step back. */
const shown = ({
  account_id: _account,
  account_state: _accountState,
  playbook_state: _playbookState,
  queue: _queue,
  message_pending_since: _pending,
  taken_over_until: _takenOver,
  waits_in: _shard,
  waits_for: _order,
  id,
  next_at,
  next_step_at,
  ...rest
}: FollowUpDocument) => ({
  next_engagement_id: id,
  ...rest,
  next_step_at: next_step_at === null ? null : (next_at ?? next_step_at),
  ...(next_at === undefined ? {} : { next_at }),
})
