import { typeOf, type Activity, type ActivityLabel } from '../../../domain/activity.js'
import type { Originator } from '../../../domain/lead.js'
import { unreachable } from '../../../domain/prelude.js'
import type { PayloadFormat } from '../../../domain/webhook.js'
import { wellFormed } from '../../../domain/well-formed.js'
import type { Contact } from '../../from-streams/contact.js'

/**
 * The body of a webhook request: `agent` is the shape of contract 6.2, `flat` that of contract 6.3. The originators
 * stand in every payload of a lead that carried one. Older versions stored texts that strict receivers refuse: what is
 * sent is well formed.
 */
export const payloadOf = (
  format: PayloadFormat,
  activity: Activity,
  contact: Contact,
  originators: ReadonlyArray<Originator>,
): string => {
  switch (format) {
    case 'agent':
      return textOf({
        activity: shownActivity(activity),
        contact,
        ...(originators.length === 0 ? {} : { lead_originators: originators }),
      })
    case 'flat':
      return textOf({
        activity_type: activity.type,
        activity_label: activity.label,
        lead_originators: originators,
      })
    default:
      return unreachable(format)
  }
}

const textOf = (payload: unknown): string => JSON.stringify(wellFormed(payload))

/**
 * The body of a test (contract 6.5): a made-up contact, and null wherever a time or an id would be of something saved.
 */
export const samplePayloadOf = (format: PayloadFormat, label: ActivityLabel): string => {
  const type = typeOf(label)
  switch (format) {
    case 'agent':
      return JSON.stringify({
        activity: {
          type,
          label,
          next_engagement_id: null,
          play_id: null,
          note: 'This is a test',
          properties: { ...(label === 'custom_conversion' ? { title: 'Test conversion' } : {}), test: true },
          created_at: null,
          updated_at: null,
        },
        contact: sampleContact,
      })
    case 'flat':
      return JSON.stringify({ activity_type: type, activity_label: label, lead_originators: [] })
    default:
      return unreachable(format)
  }
}

/** Contract 2.1. The phone number is one of those that are reserved for examples. */
const sampleContact = {
  id: `nct_${'0'.repeat(26)}`,
  first_name: 'Test',
  last_name: 'Contact',
  email: 'test.contact@example.com',
  phone: '+12025550100',
  opted_out: false,
  created_at: null,
  additional_info: {},
  referral: {
    marketing_source_id: `mks_${'0'.repeat(26)}`,
    marketing_source_title: 'Test source',
    lead_id: `led_${'0'.repeat(26)}`,
  },
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
