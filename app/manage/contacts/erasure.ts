import { objectWith, optional } from '../../../domain/codec.js'
import { contact } from '../../../domain/contact.js'
import { Asker } from '../../../domain/erasure.js'
import { ContactId, type AccountId } from '../../../domain/ids.js'
import { E, flow, type TaskEither } from '../../../domain/prelude.js'
import { requestErasure } from '../../commands/erasure/erasure-request.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { contactNotFound } from './contact-in-path.js'

const EraseRequest = objectWith({ by: optional(Asker) })

/**
 * Removes a person from everywhere. It may be repeated: the answer is `pending` until all is done, and names then
 * what was told to which webhooks, and the deliveries that were dropped.
 */
export const erasureEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/contacts/:contact_id/erase',
    handle: flow(
      withAccount(ports),
      pathId('contact_id', ContactId, contactNotFound),
      withBody(EraseRequest),
      bind('known', ({ account: { accountId }, contact_id }) => ownContact(ports, accountId, contact_id)),
      execute(({ account: { accountId }, contact_id: contactId, body, caller: { actor } }) =>
        requestErasure(ports, { accountId, contactId, by: body.by ?? actor }, actor),
      ),
      answer(200, ({ result: { isPurged, summary } }) => ({
        erased: isPurged ? true : 'pending',
        webhooks: summary?.webhooks.map(({ webhook_id: id, deliveries }) => ({ id, deliveries })) ?? [],
        webhooks_count: summary?.webhooks_count ?? 0,
        dropped: summary?.dropped ?? [],
        dropped_count: summary?.dropped_count ?? 0,
      })),
    ),
  },
]

/** It may be erased already; where its lead was accepted and it lacks only what follows, that is no 404. */
const ownContact =
  ({ commandHandler, queries }: ManagePorts, accountId: AccountId, id: ContactId): TaskEither<Problem, true> =>
  async () => {
    const loaded = await loadState(commandHandler, contact, id)
    if (E.isLeft(loaded)) return loaded
    if (loaded.right.kind !== 'unknown')
      return loaded.right.accountId === accountId ? E.right(true) : E.left(contactNotFound)
    const shown = await queries.contactById(accountId, id)
    return E.isLeft(shown) ? shown : E.left(contactNotFound)
  }
