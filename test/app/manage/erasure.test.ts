import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { erasureEndpoints } from '../../../app/manage/contacts/erasure.js'
import type { ManagePorts } from '../../../app/manage/ports.js'
import { account } from '../../../domain/account.js'
import { E, TE } from '../../../domain/prelude.js'
import { queries } from '../../../projections/queries.js'
import { accountId, contactId, openAccountCommand } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

/** Erases a contact that nobody knows yet. */
const eraseUnknown = async (isPending: boolean) => {
  const clock = manualClock()
  const store = memoryEventStore(memoryLog())
  const commandHandler = sharedHandler(store, clock)
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  rightOf(await commandHandler.execute(account, accountId(), openAccountCommand, envelope))
  const documents = memoryDocuments(documentState())
  const hasPendingReactions = () => Promise.resolve(isPending)
  const ports = { store, commandHandler, queries: queries({ store, documents, hasPendingReactions }) }
  const [erase] = erasureEndpoints(ports as unknown as ManagePorts)
  const request = {
    method: 'POST',
    params: { account_id: accountId(), contact_id: contactId() },
    ...{ query: () => undefined, queryNames: () => [], header: () => undefined },
    body: {},
  }
  return erase?.handle(TE.right({ request, caller: { actor: 'operator' } }))()
}

test('of a contact that an accepted lead may still create nobody is told that there is nothing to erase', async (t) => {
  t.like(await eraseUnknown(true), E.left({ kind: 'unavailable' as const }))
  t.deepEqual(await eraseUnknown(false), E.left({ kind: 'contact-not-found' }))
})
