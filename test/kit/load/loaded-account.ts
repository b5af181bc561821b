import { bearer, json, type Sent } from '../network/http.js'
import { openAccount, type Account } from '../service/account.js'
import { loadToken } from './load-receiver.js'

/** The account that a load is sent to, wherever the service listens: each start may listen elsewhere. */
export type LoadedAccount = Pick<Account, 'id' | 'apiKey'> & {
  readonly postPath: string
  readonly conversionIds: ReadonlyArray<string>
}

/** Opens an account with one source and one webhook that is subscribed to everything. */
export const openLoadedAccount = async (address: string, webhookUrl: string): Promise<LoadedAccount> => {
  const { id, apiKey, postUrl, addWebhook, standardConversions } = await openAccount({ url: address }, 'Under load')
  await addWebhook({ url: webhookUrl, token: loadToken, events: [] })
  return {
    id,
    apiKey,
    postPath: new URL(postUrl).pathname,
    conversionIds: Object.values(await standardConversions()),
  }
}

/** What a client sends: see `Client`. */
export type Sending = readonly [path: string, sent: Sent]

export const finding = ({ apiKey }: LoadedAccount, phone: string): Sending => [
  `/api/v3/contacts/find?phone=${encodeURIComponent(phone)}`,
  { headers: bearer(apiKey) },
]

export const recording = (
  { apiKey }: LoadedAccount,
  conversionId: string,
  contactId: string,
  more: { readonly custom_value?: number },
): Sending => [
  `/api/v3/conversions/${conversionId}/events`,
  json({ conversion_contact: { contact_id: contactId, ...more } }, bearer(apiKey)),
]
