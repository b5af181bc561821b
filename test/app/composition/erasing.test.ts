import test, { type ExecutionContext } from 'ava'
import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { commandSide } from '../../../app/composition/command-side.js'
import { followersOn } from '../../../app/composition/followers.js'
import type { Stores } from '../../../app/composition/stores.js'
import { contact } from '../../../domain/contact.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { erasure } from '../../../domain/erasure.js'
import { lead } from '../../../domain/lead.js'
import { E } from '../../../domain/prelude.js'
import { collectionOf } from '../../../projections/projection.js'
import { messages } from '../../../projections/read-models/messages.js'
import { accountId, contactId, leadFacts, uuid } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryAppendAll, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { until } from '../../kit/time/until.js'

/** What follows the log in a process whose read model of messages can be replaced by that of another version. */
const openProcess = async (t: ExecutionContext) => {
  const log = memoryLog()
  const kept = memoryDocuments(documentState())
  let isReplaced = false
  const logger = recordingLogger()
  const ports = { clock: manualClock(), logger, monotonic: monotonicClock }
  const membership = singleProcessMembership()
  const stores: Stores = {
    store: memoryEventStore(log),
    documents: {
      ...kept,
      exists: (collection) =>
        isReplaced && collection.name === messages.name ? Promise.resolve(E.right(false)) : kept.exists(collection),
    },
    membership,
    isShared: false,
    appendAll: memoryAppendAll(log),
    documentsFailure: () => undefined,
    eventStoreRefusal: () => Promise.resolve(undefined),
    refuseForeign: () => Promise.resolve(E.right(undefined)),
    close: () => Promise.resolve(),
  }
  const side = commandSide(stores, ports)
  const followers = followersOn({ ...ports, ...side, stores, messenger: messengerWithoutProvider })
  const byName = new Map(followers.all.map((one) => [one.name, one]))
  membership.share(
    'projector',
    () => [...byName.keys()],
    async (lease) => byName.get(lease.name)?.run(lease),
  )
  t.teardown(membership.leave)
  const isBuilt = async () => rightOf(await kept.exists(collectionOf(messages)))
  await until('the read models are built', 60_000, isBuilt)
  return {
    commandHandler: side.commandHandler,
    logger,
    replace: (replaced: boolean) => void (isReplaced = replaced),
  }
}

test('an erasure does not end where the messages are not there in this version, and goes on once they are', async (t) => {
  const { commandHandler, logger, replace } = await openProcess(t)
  const submitted = leadFacts()
  const submit = { type: 'SubmitLead', facts: submitted } as const
  rightOf(await commandHandler.execute(lead, submitted.lead_id, submit, { actor: 'vendor', eventId: () => uuid(2) }))
  const isThere = async () => rightOf(await commandHandler.load(contact, contactId())).revision !== 'no-stream'
  await until('the contact is there', 60_000, isThere)
  replace(true)
  const id = erasureIdOf(contactId())
  const facts = { erasure_id: id, account_id: accountId(), contact_id: contactId(), by: 'ticket-1' }
  const envelope = { actor: 'test', eventId: () => uuid(1) }
  rightOf(await commandHandler.execute(erasure, id, { type: 'RequestErasure', facts }, envelope))
  const isOver = async () => rightOf(await commandHandler.load(erasure, id)).state.kind === 'completed'
  const isWaiting = () => logger.lines.some(({ fields }) => /messages is being built/.test(String(fields['reason'])))
  await until('it waits or is over', 60_000, async () => isWaiting() || (await isOver()))
  t.false(await isOver())
  replace(false)
  await until('it is over', 60_000, isOver)
})
