import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { hearEach } from '../../../app/messaging/heard.js'
import { contact } from '../../../domain/contact.js'
import { message } from '../../../domain/message.js'
import { defaultSettings, playbook } from '../../../domain/playbook.js'
import { engagement } from '../../../domain/engagement.js'
import { E } from '../../../domain/prelude.js'
import {
  accountId,
  at,
  attribution,
  contactId,
  details,
  engagementId,
  leadId,
  messageId,
  playbookId,
  sourceId,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

test('of the accounts that share a sender each hears of an opt-out, though the contact of the one before is gone', async (t) => {
  const clock = manualClock()
  const { uuid } = randomIds(clock)
  const commandHandler = sharedHandler(memoryEventStore(memoryLog()), clock)
  const execute: ClientCommands['execute'] = (decider, id, command, actor) =>
    commandHandler.execute(decider, id, command, { actor, eventId: uuid })
  const ids = { playbookId: playbookId(), accountId: accountId() }
  rightOf(await execute(playbook, playbookId(), { type: 'CreatePlaybook', ...ids, settings: defaultSettings }, 'test'))
  const engage = {
    type: 'EngageLead',
    ...{ contactId: contactId(), accountId: accountId(), leadId: leadId(), sourceId: sourceId() },
    ...{ sourceTitle: 'Search ads', playbookId: playbookId(), engagementId: engagementId(), details: details() },
    ...{ submittedAt: at(), at: at() },
  } as const
  rightOf(await execute(contact, contactId(), engage, 'test'))
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  const start = { type: 'StartEngagement', attribution: attribution(), ...times } as const
  rightOf(await execute(engagement, engagementId(), start, 'test'))

  const [gone, reached] = [9, 1].map((n) => ({
    ...{ accountId: accountId(n), contactId: contactId(n), messageId: messageId(n) },
  }))
  if (gone === undefined || reached === undefined) throw new Error('nobody hears')
  const queries = { page: () => Promise.resolve(E.right([])) }
  const heard = { text: 'STOP', said: 'opted_out', isAnsweredByDefault: true, actor: 'provider' } as const
  const playbookAt = () => Promise.resolve(undefined)
  const ports = { commandHandler, clientCommands: { execute }, clock, queries }
  t.deepEqual(await hearEach(ports, playbookAt, heard, [gone, reached], gone), E.left({ kind: 'contact-not-found' }))
  t.is(rightOf(await commandHandler.load(message, messageId(1))).state.kind, 'received')
})
