import type { EngagementId } from '../../../domain/ids.js'
import type { EventStore, StoreFailure } from '../../../domain/ports.js'
import { E, flow, type TaskEither } from '../../../domain/prelude.js'
import type { Remark } from '../../../domain/remark.js'
import { contactTimeline, type TimelineEntry } from '../../../projections/read-models/contact-timeline.js'
import { remarksAt } from '../../../projections/from-streams/remarks.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { withContact } from './contact-in-path.js'

/** Every lead, activity, conversion and delivery of a contact, in the order of the log. */
export const timelineEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/contacts/:contact_id/timeline',
    handle: flow(
      withContact(ports),
      withPage(ports.queries, contactTimeline, ({ contact_id }) => ({
        index: 'by_contact',
        equals: [contact_id],
        descending: false,
      })),
      bind('timeline', ({ page }) => withRemarks(ports.store, page.documents)),
      answer(200, ({ page, timeline }) => ({ timeline: timeline.map(shown), next_cursor: page.next_cursor })),
    ),
  },
]

/**
 * The entries with what was said of their activities, unless that was erased. The remarks of one engagement are read
 * together.
 */
const withRemarks =
  (store: EventStore, entries: ReadonlyArray<TimelineEntry>): TaskEither<StoreFailure, ReadonlyArray<TimelineEntry>> =>
  async () => {
    const revisions = new Map<EngagementId, Array<number>>()
    for (const entry of entries) {
      const { engagementId, revision } = remarkOf(entry)
      if (revision !== undefined) revisions.set(engagementId, [...(revisions.get(engagementId) ?? []), revision])
    }
    const remarks = new Map<EngagementId, ReadonlyMap<number, Remark>>()
    for (const [id, wanted] of revisions) {
      const found = await remarksAt(store, id, wanted)
      if (E.isLeft(found)) return found
      remarks.set(id, found.right)
    }
    return E.right(
      entries.map((entry) => {
        const { engagementId, revision } = remarkOf(entry)
        return revision === undefined ? entry : { ...entry, ...remarks.get(engagementId)?.get(revision) }
      }),
    )
  }

/** The document of an activity has both. */
const remarkOf = (entry: TimelineEntry) => ({
  engagementId: entry['next_engagement_id'] as EngagementId,
  revision: entry['remark'] as number | undefined,
})

const shown = ({ contact_id: _contact, order: _order, remark: _remark, ...entry }: TimelineEntry) => entry
