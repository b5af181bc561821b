import { account } from '../../../domain/account.js'
import { optional, t } from '../../../domain/codec.js'
import { contact } from '../../../domain/contact.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { Asker, erasure } from '../../../domain/erasure.js'
import { ContactId, type AccountId } from '../../../domain/ids.js'
import { E, flow, type Either } from '../../../domain/prelude.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const EraseRequest = t.type({ by: optional(Asker) })

const notFound: Problem = { kind: 'contact-not-found' }

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
      pathId('contact_id', ContactId, notFound),
      withBody(EraseRequest, {}),
      bind('known', ({ account: { accountId }, contact_id }) => ownContact(ports, accountId, contact_id)),
      bind('begun', ({ account: { accountId }, caller }) =>
        ports.clientCommands.execute(account, accountId, { type: 'BeginErasures' }, caller.actor),
      ),
      execute(({ account: { accountId }, contact_id, body, caller }) => {
        const erasureId = erasureIdOf(contact_id)
        const by = body.by ?? caller.actor
        const facts = { erasure_id: erasureId, account_id: accountId, contact_id, by }
        return ports.clientCommands.execute(erasure, erasureId, { type: 'RequestErasure', facts }, caller.actor)
      }),
      bind('closed', ({ contact_id, caller }) => closed(ports, contact_id, caller)),
      bind('end', async ({ contact_id, result }) => {
        // Another erasure may have begun those of the account within the last second.
        if (result.events.length > 0) await ports.erasures.knownToAll()
        return ports.erasures.ended(erasureIdOf(contact_id), result.events.at(-1)?.position)
      }),
      answer(200, ({ end }) => ({
        erased: end.isPurged ? true : 'pending',
        webhooks: end.summary?.webhooks.map(({ webhook_id: id, deliveries }) => ({ id, deliveries })) ?? [],
        dropped: end.summary?.dropped ?? [],
        dropped_count: end.summary?.dropped_count ?? 0,
      })),
    ),
  },
]

/** It may be erased already; where its lead was accepted and it lacks only what follows, that is no 404. */
const ownContact = async (
  { commandHandler, queries }: ManagePorts,
  accountId: AccountId,
  id: ContactId,
): Promise<Either<Problem, true>> => {
  const loaded = await loadState(commandHandler, contact, id)
  if (E.isLeft(loaded)) return loaded
  if (loaded.right.kind !== 'unknown') return loaded.right.accountId === accountId ? E.right(true) : E.left(notFound)
  const shown = await queries.contactById(accountId, id)
  return E.isLeft(shown) ? shown : E.left(notFound)
}

/** At once, so that no lead joins the contact and nothing is reported of it from the answer on, however long the rest takes. */
const closed = async (
  { clientCommands }: ManagePorts,
  id: ContactId,
  { actor }: Operator,
): Promise<Either<Problem, undefined>> => {
  const command = { type: 'EraseContact', contactId: id, erasureId: erasureIdOf(id) } as const
  const done = await clientCommands.execute(contact, id, command, actor)
  // Only a lead is ever forgotten.
  if (E.isLeft(done)) return E.left(done.left.kind === 'lead-forgotten' ? { kind: 'unexpected' } : done.left)
  return E.right(undefined)
}
