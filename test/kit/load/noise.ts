import { randomUUID } from 'node:crypto'
import type { DomainEvent } from '../../../domain/events.js'
import type { AccountId, EngagementId, WebhookId } from '../../../domain/ids.js'
import type { EventStore, NewEvent } from '../../../domain/ports.js'
import { at, attribution, contactId, engagementId } from '../domain/samples.js'
import { bearer, json, type Site } from '../network/http.js'
import { rightOf } from '../right-of.js'
import { openAccount } from '../service/account.js'
import { operatorKey } from '../service/settings.js'
import type { Sending } from './loaded-account.js'
import { leadFields, phoneNumber } from './submissions.js'

/** An account that does to its neighbours what one account can. */
export type NoisyAccount = {
  readonly id: AccountId
  readonly postPath: string
  readonly webhookIds: ReadonlyArray<WebhookId>
}

/** Opens it, with a webhook to each of these receivers. */
export const openNoisyAccount = async (site: Site, receivers: ReadonlyArray<string>): Promise<NoisyAccount> => {
  const { id, postUrl, addWebhook } = await openAccount(site, 'Noisy')
  const webhookIds: Array<WebhookId> = []
  for (const url of receivers) webhookIds.push((await addWebhook({ url, token: 'noisy' })) as WebhookId)
  return { id: id as AccountId, postPath: new URL(postUrl).pathname, webhookIds }
}

/**
 * Its contact is in no stream, so that nothing which changes the contact can ever follow from what is reported of it.
 */
const poisonedEngagement = engagementId(1)

/** Whose second event can't be decoded. */
const brokenEngagement = engagementId(2)

/** Writes what can't be handled: an event that can't be decoded, and an engagement of which `noiseOf` reports more. */
export const poison = async (
  { append }: Pick<EventStore, 'append'>,
  { id: account_id }: Pick<NoisyAccount, 'id'>,
): Promise<void> => {
  for (const engagement_id of [poisonedEngagement, brokenEngagement]) {
    const data = attribution({ engagement_id, account_id, contact_id: contactId(404) })
    rightOf(await append(streamOf(engagement_id), 'no-stream', [newEvent({ type: 'EngagementStarted', data })]))
  }
  const broken = newEvent({ type: 'ActivityRecorded', data: {} } as unknown as DomainEvent)
  rightOf(await append(streamOf(brokenEngagement), 0, [broken]))
}

const streamOf = (engagement: EngagementId): string => `engagement-${engagement}`

const newEvent = (event: DomainEvent): NewEvent => {
  const id = randomUUID()
  return { ...event, id, time: at(), correlationId: id, causationId: id, schemaVersion: 1, actor: 'test' }
}

/** Each is sent many leads, whose fields only add up. */
const fatContacts = 3

/** As long as a field may be, or nearly so. */
const longText = 'x'.repeat(9_900)

/** The leads of one number, those of fat contacts, and reports of what can't be handled: each by its serial number. */
export type Noise = Readonly<Record<'hot' | 'fat' | 'poison', (nth: number) => Sending>>

/** The log must have been poisoned for the account. */
export const noiseOf = ({ id, postPath }: NoisyAccount): Noise => ({
  hot: (nth) => [postPath, json(leadFields(nth, phoneNumber(0)))],
  fat: (nth) => {
    const extra = { [`extra_${nth}_a`]: longText, [`extra_${nth}_b`]: longText }
    return [postPath, json({ ...leadFields(nth, phoneNumber(1 + (nth % fatContacts))), ...extra })]
  },
  poison: () => [
    `/manage/v1/accounts/${id}/engagements/${poisonedEngagement}/activities`,
    json({ type: 'outcome', label: 'opted_out' }, bearer(operatorKey)),
  ],
})
