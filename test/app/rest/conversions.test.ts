import test from 'ava'
import { conversionEndpoints } from '../../../app/rest/conversions.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import type { AccountSecret } from '../../../domain/derived-id.js'
import { conversion } from '../../../domain/conversion.js'
import { E, TE } from '../../../domain/prelude.js'
import type { Queries } from '../../../projections/queries.js'
import { accountId, contactId, conversionId, uuid } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

/** Records a conversion of a contact that nobody knows yet. */
const recordForUnknown = async (isPending: boolean) => {
  const clock = manualClock()
  const commandHandler = sharedHandler(memoryEventStore(memoryLog()), clock)
  const ids = { conversionId: conversionId(), accountId: accountId() }
  const define = { type: 'DefineConversion', ...ids, title: 'Sold', value: 0, label: 'sold' } as const
  rightOf(await commandHandler.execute(conversion, conversionId(), define, { actor: 'test', eventId: () => uuid(1) }))
  const [, record] = conversionEndpoints({
    ...{ queries: {} as Queries, clientCommands: {} as ClientCommands, commandHandler, clock },
    hasPendingReactions: () => Promise.resolve(isPending),
  })
  const request = {
    method: 'POST',
    params: { conversion_id: conversionId() },
    ...{ query: () => undefined, queryNames: () => [], header: () => undefined },
    body: { conversion_contact: { contact_id: contactId() } },
  }
  const secret = Buffer.from('secret') as AccountSecret
  const caller = { accountId: accountId(), secret, hasErasures: false, actor: 'key_1' }
  return record?.handle(TE.right({ request, caller }))()
}

test('a contact that an accepted lead may still create is not said to be unknown', async (t) => {
  t.like(await recordForUnknown(true), E.left({ kind: 'unavailable' }))
  t.deepEqual(await recordForUnknown(false), E.left({ kind: 'contact-not-found' }))
})
