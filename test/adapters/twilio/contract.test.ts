import { twilioMessenger } from '../../../adapters/twilio/messenger.js'
import { messengerContract } from '../../contracts/messenger.js'
import { at } from '../../kit/domain/samples.js'
import { openTwilioDouble } from '../../twilio-double/double.js'

messengerContract('Twilio', async () => {
  const double = await openTwilioDouble(at)
  const statusCallbackOf = (id: string): string => `https://leads.example.com/messaging/twilio/status/${id}`
  const messenger = twilioMessenger({ account: double.account(), statusCallbackOf }, { clock: { now: at } })
  const close = async (): Promise<void> => {
    messenger.close()
    await double.close()
  }
  return { messenger, close }
})
