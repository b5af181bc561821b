import { flow, E, TE, type Either } from '../../../domain/prelude.js'
import type { Cursor } from '../../../projections/ports.js'
import type { Queries } from '../../../projections/queries.js'
import { accountMonthOf, messages } from '../../../projections/read-models/messages.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { adding, answer } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

type Usage = { readonly messages: number; readonly segments: number }

/** What an account has sent in a month, as providers bill it. */
export const usageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/usage',
    handle: flow(
      withAccount(ports),
      TE.bindW('month', ({ request }) =>
        TE.fromEither(monthFrom(request.query('month') ?? ports.clock.now().slice(0, 7))),
      ),
      adding(
        'usage',
        ({ account, month }) =>
          () =>
            usageIn(ports.queries, accountMonthOf(account.accountId, month)),
      ),
      answer(200, ({ month, usage }) => ({ usage: { month, ...usage } })),
    ),
  },
]

const badMonth: Problem = { kind: 'invalid', messages: ['month must be a month such as 2026-01'] }

const monthFrom = (text: string): Either<Problem, string> =>
  /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? E.right(text) : E.left(badMonth)

const pageSize = 500

/** Page by page: a month may hold more messages than fit into memory at once. */
const usageIn = async (queries: Queries, month: string): Promise<Either<Problem, Usage>> => {
  let usage: Usage = { messages: 0, segments: 0 }
  let after: Cursor | undefined
  for (;;) {
    const query = { index: 'by_month', equals: [month], limit: pageSize }
    const page = await queries.page(messages, after === undefined ? query : { ...query, after })
    if (E.isLeft(page)) return page
    for (const { document } of page.right)
      usage = { messages: usage.messages + 1, segments: usage.segments + document.segments }
    const last = page.right.at(-1)
    if (last === undefined || page.right.length < pageSize) return E.right(usage)
    after = { key: last.key, value: last.document.created_at }
  }
}
