import test from 'ava'
import { streamQueue } from '../../../app/commands/stream-queue.js'
import { conversion } from '../../../domain/conversion.js'
import type { CommandHandler } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { accountId, conversionId, uuid } from '../../kit/domain/samples.js'
import { settled } from '../../kit/time/turns.js'

const define = (n: number) => {
  const ids = { conversionId: conversionId(n), accountId: accountId() } as const
  const command = { type: 'DefineConversion', ...ids, title: 'any', value: 0, label: 'custom_conversion' } as const
  return [conversion, conversionId(n), command, { actor: 'test', eventId: () => uuid(n) }] as const
}

test('however many requests come for a stream whose store is silent, a fixed number waits, and the others are told so', async (t) => {
  let answer: () => void = () => undefined
  const silent = new Promise<void>((resolve) => (answer = resolve))
  let executed = 0
  const execute = async () => {
    executed += 1
    await silent
    return E.right({ events: [] })
  }
  const { ofRequests, ofWork } = streamQueue({ execute } as unknown as CommandHandler)
  const ended: Array<unknown> = []
  const begin = (handler: CommandHandler, n: number): void =>
    void handler.execute(...define(n)).then((result) => ended.push(result))

  for (let requests = 0; requests < 20_000; requests += 1) begin(ofRequests, 1)
  await settled()
  t.is(ended.length, 20_000 - 500)
  const refusal = E.left({ kind: 'unavailable', reason: 'too many commands wait for a stream' })
  t.true(ended.every((result) => JSON.stringify(result) === JSON.stringify(refusal)))
  begin(ofWork, 1)
  begin(ofRequests, 2)
  await settled()
  t.is(ended.length, 20_000 - 500)
  t.is(executed, 2, 'another stream does not wait')

  answer()
  await settled()
  t.is(ended.length, 20_002)
  t.is(executed, 502)
  begin(ofRequests, 1)
  await settled()
  t.is(executed, 503)
})
