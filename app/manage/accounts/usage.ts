import { monthOf } from '../../../domain/instant.js'
import { E, flow, TE, type Either } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

/** What an account has sent in a month, as providers bill it. */
export const usageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/usage',
    handle: flow(
      withAccount(ports),
      bind('month', ({ request }) => TE.fromEither(monthFrom(request.query('month') ?? monthOf(ports.clock.now())))),
      bind(
        'usage',
        ({ account, month }) =>
          () =>
            ports.queries.usage(account.accountId, month),
      ),
      answer(200, ({ month, usage }) => ({ usage: { month, ...usage } })),
    ),
  },
]

const badMonth: Problem = { kind: 'invalid', messages: ['month must be a month such as 2026-01'] }

const monthFrom = (text: string): Either<Problem, string> =>
  /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? E.right(text) : E.left(badMonth)
