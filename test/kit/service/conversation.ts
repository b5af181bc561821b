import { having } from '../network/http.js'
import { until } from '../time/until.js'
import type { Account } from './account.js'

/** A contact, and whose it is. */
type Contact = { readonly account: Account; readonly contact_id: string }

export type ShownMessage = {
  readonly id: string
  readonly next_engagement_id: string
  readonly direction: string
  readonly state: string
  readonly text: string
  readonly step: number | null
  readonly purpose: string | null
  readonly reason: string | null
  readonly at: string
}

export const soon = (look: () => Promise<boolean> | boolean) =>
  until('what the playbook does', 30_000, async () => look())

export const messagesOf = async ({ account, contact_id }: Contact): Promise<ReadonlyArray<ShownMessage>> =>
  having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages') as unknown as Array<ShownMessage>

/** Resolves once a text went out to the contact. */
export const isTexted = (contact: Contact) =>
  soon(async () => (await messagesOf(contact)).some(({ state }) => state === 'sent'))

export const inboundOf = async (contact: Contact): Promise<ReadonlyArray<string>> =>
  (await messagesOf(contact)).flatMap(({ direction, text }) => (direction === 'inbound' ? [text] : []))

export const labelsOf = async ({ account, contact_id }: Contact): Promise<ReadonlyArray<string>> =>
  having(await account.manage('GET', `/contacts/${contact_id}/timeline`), 'timeline').flatMap((entry) =>
    entry['kind'] === 'activity' ? [String(entry['label'])] : [],
  )

export const isOptedOut = async (account: Account, phone: string): Promise<boolean> =>
  having(await account.find(phone), 'contact').opted_out
