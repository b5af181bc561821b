import { contact } from '../../domain/contact.js'
import { idIn } from '../../domain/stream-name.js'
import { evolveContact, type ContactDocument } from '../from-streams/contact.js'
import type { Projection } from '../projection.js'

/**
 * Contacts by id. A phone number is found through it too: the id is derived from account and number (`contactIdOf`), so
 * that no number need stand in a key.
 */
export const contacts: Projection<ContactDocument> = {
  name: 'contacts',
  version: 3,
  categories: ['contact'],
  indexes: {},
  namedByOthers: ['additional_info'],
  createdBy: new Set(['ContactCreated']),
  keyOf: (event) => {
    switch (event.type) {
      case 'ContactCreated':
      case 'ContactDetailsChanged':
      case 'ContactOptedOut':
      case 'ContactOptedIn':
      case 'ContactErased':
        return idIn(contact, event.stream)
      default:
        return undefined
    }
  },
  evolve: evolveContact,
}
