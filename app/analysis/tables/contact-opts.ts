import { contact } from '../../../domain/contact.js'
import { idIn } from '../../../domain/decider.js'
import type { Recorded } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Instant } from '../../../domain/instant.js'
import type { ReplyMeaning } from '../../../domain/reply-meaning.js'
import { triggers } from '../../../domain/trigger.js'

type Opt = { readonly contact_id: string; readonly meaning: ReplyMeaning; readonly recorded_at: Instant }

/** Whether somebody opted out or in by an event, whose number may have had no contact yet. */
export const contactOptOf = ({ type, data, stream, time }: Recorded<DomainEvent>): Opt | undefined => {
  switch (type) {
    case 'NumberOptedOut':
      return { contact_id: data.contact_id, meaning: 'opted_out', recorded_at: time }
    case 'NumberOptedIn':
      return { contact_id: data.contact_id, meaning: 'opted_in', recorded_at: time }
    // By what it had said to the sender before the account used that, or to a contact that was erased, without an
    // activity or a text.
    case 'ContactOptedOut':
    case 'ContactOptedIn': {
      const contact_id = idIn(contact, stream)
      const meaning = type === 'ContactOptedOut' ? 'opted_out' : 'opted_in'
      return contact_id === undefined ? undefined : { contact_id, meaning, recorded_at: time }
    }
    case 'MessageReceived':
    case 'MessageErased': {
      const { contact_id, meaning } = data
      if (meaning !== 'opted_in' && meaning !== 'opted_out') return undefined
      // As of a moment before the erasure it still counts, so its row has the time at which the contact wrote.
      return { contact_id, meaning, recorded_at: type === 'MessageErased' ? data.began_at : time }
    }
    // Also of a lead that was filtered since its contact had opted out before: an erasure leaves nothing else of that.
    case 'ActivityRecorded': {
      const { contact_id, label, note } = data.activity
      const before = triggers['opted-out-before']
      const isOptedOut = label === 'opted_out' || (label === before.label && note === before.note)
      return isOptedOut ? { contact_id, meaning: 'opted_out', recorded_at: time } : undefined
    }
    default:
      return undefined
  }
}
