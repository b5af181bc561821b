import { contactTimeline } from './read-models/contact-timeline.js'
import { contacts } from './read-models/contacts.js'
import { conversionList } from './read-models/conversion-list.js'
import { deliveries } from './read-models/deliveries.js'
import { leadList } from './read-models/lead-list.js'
import { notices } from './read-models/notices.js'
import { parkedEvents } from './read-models/parked-events.js'
import { playbookList } from './read-models/playbook-list.js'
import { anyProjection, type AnyProjection } from './projection.js'
import { resends } from './read-models/resends.js'
import { sourceList } from './read-models/source-list.js'
import { webhookList } from './read-models/webhook-list.js'

/** Every read model there is: what the service runs and what a rebuild builds. */
export const readModels: ReadonlyArray<AnyProjection> = [
  anyProjection(contacts),
  anyProjection(conversionList),
  anyProjection(playbookList),
  anyProjection(sourceList),
  anyProjection(leadList),
  anyProjection(webhookList),
  anyProjection(deliveries),
  anyProjection(resends),
  anyProjection(contactTimeline),
  anyProjection(notices),
  anyProjection(parkedEvents),
]
