import test from 'ava'
import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { randomIds } from '../../../adapters/node/ids.js'
import { StreamedText } from '../../../app/http/problem.js'
import { eventEndpoints } from '../../../app/manage/log/events.js'
import type { ManagePorts } from '../../../app/manage/ports.js'
import { account } from '../../../domain/account.js'
import { TE } from '../../../domain/prelude.js'
import { accountId, openAccountCommand } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { endedWith } from '../../kit/parts/ended-with.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

test('who asks for events again and again leaves nothing on what ends such answers with the service', async (t) => {
  const clock = manualClock()
  const store = memoryEventStore(memoryLog())
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  rightOf(await sharedHandler(store, clock).execute(account, accountId(), openAccountCommand, envelope))
  const draining = new AbortController().signal
  const [events] = eventEndpoints({ store, logger: recordingLogger(), draining } as unknown as ManagePorts)
  const request = {
    ...{ method: 'GET', params: {}, body: undefined },
    ...{ query: () => undefined, queryNames: () => [], header: () => undefined },
  }
  const ask = async (): Promise<string> => {
    const answer = await events?.handle(TE.right({ request, caller: { actor: 'operator' } }))()
    const { body } = rightOf(answer ?? t.fail())
    return body instanceof StreamedText ? text(Readable.from(body.from(new AbortController().signal))) : ''
  }
  t.regex(await ask(), /"type":"AccountOpened"/)
  const before = endedWith(draining)
  for (let n = 0; n < 20; n += 1) await ask()
  t.is(endedWith(draining), before)
})
