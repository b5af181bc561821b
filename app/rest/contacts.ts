import { contactIdOf } from '../../domain/derived-id.js'
import { ContactId } from '../../domain/ids.js'
import { phoneFromText } from '../../domain/phone.js'
import { E } from '../../domain/prelude.js'
import type { Endpoint } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import type { Queries } from '../../projections/queries.js'
import type { Caller } from './caller.js'

/** Contract 4.1 and 4.2. */
export const contactEndpoints = (queries: Queries): ReadonlyArray<Endpoint<Caller>> => [
  {
    method: 'GET',
    path: '/contacts/find',
    handle: async (request, { accountId, secret }) => {
      const text = request.query('phone')?.trim() ?? ''
      if (text === '') return E.left({ kind: 'invalid', messages: ['phone is required'] })
      const phone = phoneFromText(text)
      if (phone === undefined) return E.left({ kind: 'invalid', messages: ['phone must be a phone number'] })
      const found = await queries.contactById(accountId, contactIdOf(secret, phone))
      if (E.isLeft(found)) return found
      if (found.right === undefined) return E.left({ kind: 'no-match', message: 'contact not found' })
      return E.right({ status: 200, body: { contact: found.right } })
    },
  },
  {
    method: 'GET',
    path: '/contacts/:id',
    handle: async (request, { accountId }) => {
      const id = request.params['id']
      if (!ContactId.is(id)) return E.left(contactNotFound)
      const found = await queries.contactById(accountId, id)
      if (E.isLeft(found)) return found
      return found.right === undefined
        ? E.left(contactNotFound)
        : E.right({ status: 200, body: { contact: found.right } })
    },
  },
]

const contactNotFound: Problem = { kind: 'contact-not-found' }
