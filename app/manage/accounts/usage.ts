import type { AccountId } from '../../../domain/ids.js'
import { monthsUntil, type Instant } from '../../../domain/instant.js'
import { E, flow, pipe, TE, type Either } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

/**
 * What an account has sent, as providers bill it: in the month that is asked for, else in this one and the eleven
 * before.
 */
export const usageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/usage',
    handle: flow(
      withAccount(ports),
      bind('asked', ({ request }) => monthsFrom(request.query('month'), ports.clock.now())),
      bind('months', ({ account: { accountId }, asked }) => TE.traverseArray(usageIn(ports, accountId))(asked)),
      answer(200, ({ months }) => ({ months })),
    ),
  },
]

const usageIn =
  ({ queries }: ManagePorts, accountId: AccountId) =>
  (month: string) =>
    pipe(
      () => queries.usage(accountId, month),
      TE.map((usage) => ({ month, ...usage })),
    )

const badMonth: Problem = { kind: 'invalid', messages: ['month must be a month such as 2026-01'] }

/** Newest first. */
const monthsFrom = (text: string | undefined, now: Instant): Either<Problem, ReadonlyArray<string>> => {
  if (text === undefined) return E.right(monthsUntil(now, 12))
  return /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? E.right([text]) : E.left(badMonth)
}
