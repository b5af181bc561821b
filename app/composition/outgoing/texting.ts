import { keptMessages } from '../../../adapters/in-process/kept-messages.js'
import { twilioMessenger } from '../../../adapters/twilio/messenger.js'
import type { Clock } from '../../../domain/ports.js'
import type { Messenger } from '../../../projections/follow-up/messenger.js'
import type { Config } from '../config.js'

type OpenTexting = { readonly messenger: Messenger; readonly close: () => void }

/** Hands texts to the provider that the settings name; else they are kept, where the operator reads them. */
export const texting = ({ sms, publicUrl = '' }: Pick<Config, 'sms' | 'publicUrl'>, clock: Clock): OpenTexting => {
  if (sms === undefined) return { messenger: keptMessages, close: () => undefined }
  const statusCallbackOf = (id: string): string => `${publicUrl}/messages/twilio/status/${id}`
  const messenger = twilioMessenger({ account: sms, statusCallbackOf }, { clock })
  return { messenger, close: messenger.close }
}
