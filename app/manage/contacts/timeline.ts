import { ContactId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import { contactTimeline, type TimelineEntry } from '../../../projections/read-models/contact-timeline.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
import { pageOf } from '../paging.js'
import type { ManagePorts } from '../ports.js'

/** Every lead, activity, conversion and delivery of a contact, in the order of the log (design, section 8). */
export const timelineEndpoints = ({ commandHandler, queries }: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/contacts/:contact_id/timeline',
    handle: async (request) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const contactId = request.params['contact_id']
      if (!ContactId.is(contactId)) return E.left(contactNotFound)
      const owned = await queries.contactById(found.right.accountId, contactId)
      if (E.isLeft(owned)) return owned
      if (owned.right === undefined) return E.left(contactNotFound)
      const page = await pageOf(
        queries,
        contactTimeline,
        { index: 'by_contact', equals: contactId, descending: false },
        request,
      )
      if (E.isLeft(page)) return page
      const { documents, next_cursor } = page.right
      return E.right({ status: 200, body: { timeline: documents.map(shown), next_cursor } })
    },
  },
]

const contactNotFound: Problem = { kind: 'contact-not-found' }

const shown = ({ contact_id: _contact, order: _order, ...entry }: TimelineEntry) => entry
