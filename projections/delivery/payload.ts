import type { Activity } from '../../domain/activity.js'
import type { Originator } from '../../domain/lead.js'
import { unreachable } from '../../domain/prelude.js'
import type { PayloadFormat } from '../../domain/webhook.js'
import type { Contact } from '../contacts.js'

/**
 * The body of a webhook request: `agent` is the shape of contract 6.2, `flat` that of 6.3. The originators stand in every
 * payload of a lead that carried one.
 */
export const payloadOf = (
  format: PayloadFormat,
  activity: Activity,
  contact: Contact,
  originators: ReadonlyArray<Originator>,
): string => {
  switch (format) {
    case 'agent':
      return JSON.stringify({
        activity: shownActivity(activity),
        contact,
        ...(originators.length === 0 ? {} : { lead_originators: originators }),
      })
    case 'flat':
      return JSON.stringify({
        activity_type: activity.type,
        activity_label: activity.label,
        lead_originators: originators,
      })
    default:
      return unreachable(format)
  }
}

/** Contract 2.4. */
const shownActivity = ({ type, label, engagement_id, note, properties, at }: Activity) => ({
  type,
  label,
  next_engagement_id: engagement_id,
  play_id: null,
  ...(note === null ? {} : { note }),
  properties,
  created_at: at,
  updated_at: at,
})
