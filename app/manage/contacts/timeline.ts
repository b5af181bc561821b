import { ContactId } from '../../../domain/ids.js'
import { flow } from '../../../domain/prelude.js'
import { contactTimeline, type TimelineEntry } from '../../../projections/read-models/contact-timeline.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bindOr, pathId } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'

const notFound: Problem = { kind: 'contact-not-found' }

/** Every lead, activity, conversion and delivery of a contact, in the order of the log. */
export const timelineEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/contacts/:contact_id/timeline',
    handle: flow(
      withAccount(ports),
      pathId('contact_id', ContactId, notFound),
      bindOr(
        'contact',
        ({ account, contact_id }) => ports.queries.contactById(account.accountId, contact_id),
        notFound,
      ),
      withPage(ports.queries, contactTimeline, ({ contact_id }) => ({
        index: 'by_contact',
        equals: contact_id,
        descending: false,
      })),
      answer(200, ({ page }) => ({ timeline: page.documents.map(shown), next_cursor: page.next_cursor })),
    ),
  },
]

const shown = ({ contact_id: _contact, order: _order, ...entry }: TimelineEntry) => entry
