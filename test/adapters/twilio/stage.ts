import type { ExecutionContext } from 'ava'
import { twilioMessenger } from '../../../adapters/twilio/messenger.js'
import { instantOf, later, type Instant } from '../../../domain/instant.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { number, openTwilioDouble } from '../../twilio-double/double.js'

export const noon = instantOf(Date.UTC(2026, 10, 23, 12))

/** A messenger, the double that it sends to, and a time that is moved by hand. */
export const stageFor = async (
  t: ExecutionContext,
  { sender = number, largestPage = 1_000, site = 'https://leads.example.com' } = {},
) => {
  const time = manualTime()
  const now = (): Instant => later(noon, time.now())
  const double = await openTwilioDouble(now, largestPage)
  const statusCallbackOf = (id: string): string => `${site}/messaging/twilio/status/${id}`
  const messengerFor = (account = double.account(sender)) => {
    const messenger = twilioMessenger({ account, statusCallbackOf }, { clock: { now }, monotonic: time.process() })
    t.teardown(messenger.close)
    return messenger
  }
  t.teardown(double.close)
  return { time, now, double, messengerFor, messenger: messengerFor() }
}
