import { E, flow } from '../../domain/prelude.js'
import type { InboundText, TextProvider } from '../../domain/text-provider.js'
import { isMessagingService, type TwilioAccount } from './account.js'
import { inboundMessageFrom, statusCallbackFrom } from './callbacks.js'
import { isSignedBy } from './signature.js'

/** The `TextProvider` port: reads what Twilio posts for an account below a public URL. */
export const twilioTextProvider = ({ authToken, sender }: TwilioAccount, publicUrl: string): TextProvider => ({
  name: 'twilio',
  timeLimit: 15_000,
  answersKeywords: true,
  sharedSender: sender,
  isSigned: (path, form, header) =>
    isSignedBy(authToken, `${publicUrl}${path}`, form, header('x-twilio-signature') ?? ''),
  reportFrom: flow(
    statusCallbackFrom,
    E.map((callback) => {
      const { providerId, state } = callback
      if (state === 'failed') return { providerId, ...callback.failure }
      return { providerId, kind: state === 'delivered' ? 'delivered' : 'taken' } as const
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
