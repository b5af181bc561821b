import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { isMessagingService, type TwilioAccount } from '../../../adapters/twilio/account.js'
import { inboundMessageFrom, statusCallbackFrom } from '../../../adapters/twilio/callbacks.js'
import { twilioMessenger } from '../../../adapters/twilio/messenger.js'
import { isSignedBy } from '../../../adapters/twilio/signature.js'
import type { MessageReport } from '../../../domain/message.js'
import type { Messenger } from '../../../domain/messenger.js'
import type { Clock } from '../../../domain/ports.js'
import { E, flow } from '../../../domain/prelude.js'
import type { InboundText, TextProvider } from '../../messaging/provider.js'
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
  const statusCallbackOf = (id: string): string => `${publicUrl}/messaging/twilio/status/${id}`
  const messenger = twilioMessenger({ account: sms, statusCallbackOf }, { clock })
  return { messenger, textProvider: twilioReader(sms, publicUrl), close: messenger.close }
}

const twilioReader = ({ authToken, sender }: TwilioAccount, publicUrl: string): TextProvider => ({
  sharedSender: sender,
  isSigned: (path, form, signature) => isSignedBy(authToken, `${publicUrl}${path}`, form, signature),
  reportFrom: flow(
    statusCallbackFrom,
    E.map((callback): MessageReport => {
      const { providerId, state } = callback
      if (state === 'failed') return { providerId, ...callback.failure }
      return { providerId, kind: state === 'delivered' ? 'delivered' : 'taken' }
    }),
  ),
  textFrom: flow(
    inboundMessageFrom,
    E.map(({ providerId, from, to: number, service, text, optOutType }): InboundText => {
      // Which numbers a Messaging Service has only the provider knows.
      const poolOfTo = service === undefined && isMessagingService(sender) ? sender : undefined
      const to = service === undefined ? [number] : [number, service]
      return { providerId, from, to, poolOfTo, text, mark: optOutType && meanings[optOutType] }
    }),
  ),
})

const meanings = { STOP: 'opted_out', START: 'opted_in', HELP: 'help' } as const
