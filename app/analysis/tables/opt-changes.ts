import { contact, optChangeIn } from '../../../domain/contact.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { idIn } from '../../../domain/stream-name.js'

/** Whether somebody opted out or in by an event, whose number may have had no contact yet. */
export const contactOptChange = (event: RecordedEvent) => {
  const change = optChangeIn(event)
  return change === undefined ? undefined : { contact_id: idIn(contact, event.stream), meaning: change.meaning }
}

/** The same of a contact by what closed its stream: what it had said before, and last what was so then. */
export const erasedOptChanges = ({ type, data }: RecordedEvent) => {
  if (type !== 'ContactErased') return undefined
  const { contact_id, opt_history = [], opted_out } = data
  return [
    ...opt_history.map(({ meaning, at }, index) => ({ contact_id, meaning, recorded_at: at, revision: index })),
    { contact_id, meaning: opted_out ? 'opted_out' : 'opted_in' },
  ]
}
