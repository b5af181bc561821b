import { contactTimeline } from './contact-timeline.js'
import { contacts } from './contacts.js'
import { conversionList } from './lists/conversion-list.js'
import { deliveries } from './deliveries.js'
import { followUps } from './follow-ups.js'
import { leadList } from './lists/lead-list.js'
import { messages } from './messages.js'
import { notices } from './notices.js'
import { parkedEvents } from './parked-events.js'
import { playbookList } from './lists/playbook-list.js'
import { anyProjection, type AnyProjection } from '../projection.js'
import { resends } from './resends.js'
import { sourceList } from './lists/source-list.js'
import { webhookList } from './lists/webhook-list.js'

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
  anyProjection(followUps),
  anyProjection(messages),
]
