import { contact, optOf } from '../../../domain/contact.js'
import { idIn } from '../../../domain/decider.js'
import type { Recorded } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'

/** Whether somebody opted out or in by an event, whose number may have had no contact yet. */
export const contactOptOf = (event: Recorded<DomainEvent>) => {
  const opt = optOf(event)
  return opt === undefined ? undefined : { contact_id: idIn(contact, event.stream), meaning: opt.meaning }
}

/** The same of a contact by what closed its stream: what it had said before, and last what was so then. */
export const erasedOptsOf = ({ type, data }: Recorded<DomainEvent>) => {
  if (type !== 'ContactErased') return undefined
  const { contact_id, opts = [], opted_out } = data
  return [
    ...opts.map(({ meaning, at }, index) => ({ contact_id, meaning, recorded_at: at, revision: index })),
    { contact_id, meaning: opted_out ? 'opted_out' : 'opted_in' },
  ]
}
