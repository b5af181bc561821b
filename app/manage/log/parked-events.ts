import { ParkedEventId } from '../../../domain/ids.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import { flow } from '../../../domain/prelude.js'
import { parkedEvents } from '../../../projections/read-models/parked-events.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, execute, pathId, withoutFields } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'

const notFound: Problem = { kind: 'parked-event-not-found' }

/**
 * What no process manager could handle, in the order in which it came: what came later may depend on what came earlier.
 */
export const parkedEventEndpoints = ({ queries, clientCommands }: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/parked',
    handle: flow(
      withPage(queries, parkedEvents, () => ({ index: 'in_order', equals: [], descending: false })),
      answer(200, ({ page }) => ({
        parked: page.documents.map(({ created_at: _, ...shown }) => shown),
        next_cursor: page.next_cursor,
      })),
    ),
  },
  {
    method: 'POST',
    path: '/parked/:parked_event_id/retry',
    handle: flow(
      pathId('parked_event_id', ParkedEventId, notFound),
      withoutFields(),
      execute(({ parked_event_id, caller }) =>
        clientCommands.execute(parkedEvent, parked_event_id, { type: 'RequestRetry' }, caller.actor),
      ),
      answer(202, ({ parked_event_id, result }) => ({ parked: { id: parked_event_id, state: result.state.kind } })),
    ),
  },
]
