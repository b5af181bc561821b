import { ContactId } from '../../domain/ids.js'
import { phoneFromForm, type Phone } from '../../domain/phone.js'
import type { CommandHandler } from '../../domain/ports.js'
import { E, flow, type Either } from '../../domain/prelude.js'
import type { Queries } from '../../projections/queries.js'
import { currentContact } from '../commands/states/current-contact.js'
import type { Endpoint, Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { answer, bind, bindOr, pathId } from '../http/steps.js'
import type { Caller } from './caller.js'

const noMatch: Problem = { kind: 'no-match', message: 'contact not found' }
const notFound: Problem = { kind: 'contact-not-found' }

type ContactPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly queries: Pick<Queries, 'contactById'>
}

/** Contract 4.1 and 4.2. */
export const contactEndpoints = (ports: ContactPorts): ReadonlyArray<Endpoint<Caller>> => [
  {
    method: 'GET',
    path: '/contacts/find',
    handle: flow(
      bind('phone', ({ request }) => phoneIn(request)),
      bindOr('contact', ({ caller, phone }) => contactByPhone(ports, caller, phone), noMatch),
      answer(200, ({ contact }) => ({ contact })),
    ),
  },
  {
    method: 'GET',
    path: '/contacts/:id',
    handle: flow(
      pathId('id', ContactId, notFound),
      bindOr('contact', ({ caller, id }) => ports.queries.contactById(caller.accountId, id), notFound),
      answer(200, ({ contact }) => ({ contact })),
    ),
  },
]

const contactByPhone = async ({ commandHandler, queries }: ContactPorts, caller: Caller, phone: Phone) => {
  const current = await currentContact(commandHandler, caller, phone)()
  return E.isLeft(current) ? current : queries.contactById(caller.accountId, current.right.id)
}

const phoneIn = (request: Request): Either<Problem, Phone> => {
  const text = request.query('phone') ?? ''
  if (text.trim() === '') {
    const isRepeated = request.queryNames().filter((name) => name === 'phone').length > 1
    return E.left({ kind: 'invalid', messages: [isRepeated ? 'phone must be given once' : 'phone is required'] })
  }
  const phone = phoneFromForm(text)
  return phone === undefined ? E.left({ kind: 'invalid', messages: ['phone must be a phone number'] }) : E.right(phone)
}
