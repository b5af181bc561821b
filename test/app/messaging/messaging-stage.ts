import assert from 'node:assert/strict'
import { randomIds } from '../../../adapters/node/ids.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { reactionChains } from '../../../app/commands/reactions/reaction-chains.js'
import { contact } from '../../../domain/contact.js'
import { E } from '../../../domain/prelude.js'
import {
  accountId,
  at,
  contactId,
  details,
  engagementId,
  leadId,
  messageId,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

/** The contact of the account number `n`, and the id of its text. */
export const writerOf = (n: number) => ({ accountId: accountId(n), contactId: contactId(n), messageId: messageId(n) })

/** A log in which the first account has a contact whose lead was engaged. */
export const openMessagingStage = async () => {
  const clock = manualClock()
  const { uuid } = randomIds(clock)
  const log = memoryLog()
  const store = memoryEventStore(log)
  const commandHandler = sharedHandler(store, clock)
  const execute: ClientCommands['execute'] = async (decider, id, command, actor) => {
    const done = await commandHandler.execute(decider, id, command, { actor, eventId: uuid })
    return E.isLeft(done) ? done : E.right({ ...done.right, isPending: false })
  }
  const engage = {
    type: 'EngageLead',
    ...{ contactId: contactId(), accountId: accountId(), leadId: leadId(), sourceId: sourceId() },
    ...{ sourceTitle: 'Search ads', playbookId: playbookId(), engagementId: engagementId(), details: details() },
    submittedAt: at(),
  } as const
  rightOf(await execute(contact, contactId(), engage, 'test'))
  /** Carries out what follows from all that was recorded, and returns all. */
  const reactToAll = async () => {
    assert.ok(E.isRight(await reactionChains().carryOutAll(commandHandler, eventsIn(log))))
    return eventsIn(log)
  }
  return { clock, store, logger: recordingLogger(), commandHandler, clientCommands: { execute }, reactToAll }
}
