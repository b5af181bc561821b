import { performance } from 'node:perf_hooks'
import { systemClock } from '../../adapters/node/clock.js'
import { twilioMessenger } from '../../adapters/twilio/messenger.js'
import { twilioAccountFrom } from '../../adapters/twilio/url.js'
import { numberOf } from './texted.js'
import { orFail } from './tools.js'

/** The baseline of a step: calls of the messenger, and nothing recorded. Says how many messages a second. */
const account = orFail(twilioAccountFrom(process.env['SMS_URL'] ?? ''))
const count = Number(process.env['COUNT'])
const concurrency = Number(process.env['CONCURRENCY'])
const text = process.env['TEXT'] ?? ''

const statusCallbackOf = (id: string): string => `http://127.0.0.1:9/messaging/twilio/status/${id}`
const messenger = twilioMessenger({ account, statusCallbackOf }, { clock: systemClock(1) })
let next = 0
const started = performance.now()
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (next < count) {
      const serial = next++
      const id = `msg_${String(serial).padStart(26, '0')}` as const
      const { kind } = await messenger.send({ id, to: numberOf(serial), text, from: undefined, validUntil: undefined })
      if (kind !== 'accepted') throw new Error(`a message was ${kind}`)
    }
  }),
)
process.stdout.write(String(count / ((performance.now() - started) / 1000)))
