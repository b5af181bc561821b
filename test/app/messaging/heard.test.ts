import test from 'ava'
import { hearEach } from '../../../app/messaging/heard.js'
import { engagement } from '../../../domain/engagement.js'
import { message } from '../../../domain/message.js'
import { defaultSettings, playbook } from '../../../domain/playbook.js'
import { E } from '../../../domain/prelude.js'
import { accountId, at, attribution, engagementId, messageId, playbookId } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { openMessagingStage, writerOf } from './messaging-stage.js'

test('of the accounts that share a sender each hears of an opt-out, though the contact of the one before is gone', async (t) => {
  const { clock, commandHandler, clientCommands } = await openMessagingStage()
  const { execute } = clientCommands
  const ids = { playbookId: playbookId(), accountId: accountId() }
  rightOf(await execute(playbook, playbookId(), { type: 'CreatePlaybook', ...ids, settings: defaultSettings }, 'test'))
  const times = { submittedAt: at(), engagedAt: at(), filtered: false }
  const start = { type: 'StartEngagement', attribution: attribution(), ...times } as const
  rightOf(await execute(engagement, engagementId(), start, 'test'))

  const [gone, reached] = [writerOf(9), writerOf(1)]
  const queries = { page: () => Promise.resolve(E.right([])) }
  const heard = { text: 'STOP', said: 'opted_out', isAnsweredByDefault: true, actor: 'provider' } as const
  const playbookAt = () => Promise.resolve(undefined)
  const ports = { commandHandler, clientCommands, clock, queries }
  t.deepEqual(await hearEach(ports, playbookAt, heard, [gone, reached], gone), E.left({ kind: 'contact-not-found' }))
  t.is(rightOf(await commandHandler.load(message, messageId(1))).state.kind, 'received')
})
