import test from 'ava'
import { inboundEndpoint, type InboundPorts } from '../../../app/messaging/inbound.js'
import type { TextProvider } from '../../../app/messaging/provider.js'
import { positionOf } from '../../../domain/event.js'
import { E, TE } from '../../../domain/prelude.js'
import { phone } from '../../kit/domain/samples.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { openMessagingStage } from './messaging-stage.js'

const to = '+14155550100'

const openInboundStage = async () => {
  const stage = await openMessagingStage()
  const nothing = () => Promise.resolve(E.right([]))
  const shown = { position: positionOf(0n) }
  const unplaced: Array<string> = []
  const ports: InboundPorts = {
    ...stage,
    currentStates: { get: () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'a test' })) },
    queries: { byKeys: nothing, values: nothing, page: nothing },
    vault: plainVault,
    // Whoever waits waits too long.
    time: { sleep: () => Promise.resolve() },
    showing: [{ caughtUpTo: () => new Promise(() => undefined), position: () => Promise.resolve(shown.position) }],
    unplaced: (what) => void unplaced.push(what),
  }
  const provider: TextProvider = {
    sharedSender: to,
    isSigned: () => true,
    reportFrom: () => E.left([]),
    textFrom: (form) =>
      E.right({
        ...{ providerId: form.get('id') ?? '', from: phone(), text: form.get('text') ?? '' },
        ...{ to: [to], poolOfTo: undefined, mark: undefined },
      }),
  }
  const { handle } = inboundEndpoint(ports, provider)
  return {
    shown,
    unplaced,
    head: stage.store.head,
    write: (id: string, text: string) => {
      const request = {
        method: 'POST',
        params: {},
        query: () => undefined,
        header: () => undefined,
        body: { id, text },
      }
      return handle(TE.right({ request, caller: undefined }))()
    },
  }
}

test('a text that came before read models show the newest messages is not thrown away: the provider is to send it again', async (t) => {
  const { shown, unplaced, head, write } = await openInboundStage()
  t.like(await write('one', 'How much?'), { left: { kind: 'unavailable' } })
  t.like(await write('two', 'Yes'), { left: { kind: 'unavailable' } })
  t.deepEqual(unplaced, [])
  const newest = await head()
  t.true(E.isRight(newest))
  shown.position = E.isRight(newest) ? newest.right : shown.position
  t.like(await write('one', 'How much?'), { right: { status: 204 } })
  t.deepEqual(unplaced, ['text'], 'nobody wrote to the number')
})

test('an opt-out waits for no read model', async (t) => {
  const { write } = await openInboundStage()
  t.like(await write('one', 'STOP'), { right: { status: 204 } })
  t.like(await write('two', 'START'), { right: { status: 204 } })
})
