import type { ExecutionContext } from 'ava'
import { having, type Body, type Managed, type Site } from '../network/http.js'
import { receiverFor, type Received, type Receiver } from '../network/receiver.js'
import { until } from '../time/until.js'
import { openAccount, type Account } from './account.js'

export const hookToken = 'hook-token-1'

/** An account with one webhook, and what receives it. */
export type Subscription = {
  readonly account: Account
  readonly receiver: Receiver
  readonly webhookId: string
  /** As it was shown when it was added, its signing secret included. */
  readonly webhook: Managed
}

export const subscribed = async (
  t: ExecutionContext,
  where: Site,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Subscription> => {
  const [account, receiver] = await Promise.all([openAccount(where), receiverFor(t)])
  const asked = { url: receiver.url, token: hookToken, ...settings }
  const webhook = having(await account.manage('POST', '/webhooks', asked), 'webhook')
  return { account, receiver, webhookId: webhook.id, webhook }
}

/** `query` begins with `&`. */
export const deliveriesOf = async (account: Account, webhookId: string, query = ''): Promise<ReadonlyArray<Managed>> =>
  having(await account.manage('GET', `/webhooks/${webhookId}/deliveries?limit=500${query}`), 'deliveries')

/** One delivery with its log. */
export const deliveryOf = async (
  account: Account,
  webhookId: string,
  id: string,
): Promise<NonNullable<Body['delivery']>> =>
  having(await account.manage('GET', `/webhooks/${webhookId}/deliveries/${id}`), 'delivery')

export const webhookOf = async (account: Account, webhookId: string): Promise<Managed | undefined> =>
  having(await account.manage('GET', '/webhooks'), 'webhooks').find(({ id }) => id === webhookId)

/** How long a delivery, or what follows from it, may take to show, in milliseconds. */
export const longestDelivery = 60_000

/** Resolves once there are so many deliveries, none of which is due: a moment after their receiver has answered. */
export const settledDeliveries = (
  account: Account,
  webhookId: string,
  count: number,
): Promise<ReadonlyArray<Managed>> =>
  until(
    `${count} deliveries, of which none is due`,
    longestDelivery,
    () => deliveriesOf(account, webhookId),
    (all) => all.length === count && all.every(({ state }) => state !== 'due'),
  )

/** Resolves once so many deliveries are in that state, with them. */
export const deliveriesIn = (
  account: Account,
  webhookId: string,
  state: string,
  count: number,
): Promise<ReadonlyArray<Managed>> =>
  until(
    `${count} deliveries that are ${state}`,
    longestDelivery,
    () => deliveriesOf(account, webhookId, `&state=${state}`),
    (all) => all.length === count,
  )

/** Resolves with the newest delivery of a webhook once it had so many attempts. */
export const newestAfter = async (account: Account, webhookId: string, attempts: number): Promise<Managed> => {
  const [newest] = await until(
    `attempt ${attempts} of the newest delivery`,
    longestDelivery,
    () => deliveriesOf(account, webhookId),
    (all) => all[0]?.['attempts'] === attempts,
  )
  if (newest === undefined) throw new Error('there is no delivery')
  return newest
}

/** Resolves with a delivery and its log once it had so many attempts. */
export const deliveryAfter = (
  account: Account,
  webhookId: string,
  id: string,
  count: number,
): ReturnType<typeof deliveryOf> =>
  until(
    `attempt ${count} of ${id}`,
    longestDelivery,
    () => deliveryOf(account, webhookId, id),
    ({ attempts }) => attempts === count,
  )

/** Resolves once the webhook is `on` or `off`, with what is shown of it. */
export const turned = (account: Account, webhookId: string, state: 'on' | 'off'): Promise<Managed | undefined> =>
  until(
    `the webhook is ${state}`,
    longestDelivery,
    () => webhookOf(account, webhookId),
    (webhook) => webhook?.['state'] === state,
  )

export const webhookIdOf = ({ headers }: Received): string => String(headers['webhook-id'])
