import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { twilioMessenger } from '../../../adapters/twilio/messenger.js'
import { twilioTextProvider } from '../../../adapters/twilio/text-provider.js'
import type { Messenger } from '../../../domain/messenger.js'
import type { Clock } from '../../../domain/ports.js'
import type { TextProvider } from '../../../domain/text-provider.js'
import { reportPathOf } from '../../messaging/paths.js'
import type { Config } from '../config.js'

type OpenTexting = {
  readonly messenger: Messenger
  /** Undefined where texts are kept: then nobody reports anything. */
  readonly textProvider: TextProvider | undefined
  readonly close: () => void
}

/** Hands texts to the provider that the settings name; else they are kept, where the operator reads them. */
export const texting = ({ sms, publicUrl = '' }: Pick<Config, 'sms' | 'publicUrl'>, clock: Clock): OpenTexting => {
  if (sms === undefined) return { messenger: messengerWithoutProvider, textProvider: undefined, close: () => undefined }
  const textProvider = twilioTextProvider(sms, publicUrl)
  const statusCallbackOf = (id: string): string => `${publicUrl}${reportPathOf(textProvider, id)}`
  const messenger = twilioMessenger({ account: sms, statusCallbackOf }, { clock })
  return { messenger, textProvider, close: messenger.close }
}
