import type { ExecutionContext } from 'ava'
import { having, openAccount, type Account, type Site } from './service.js'
import type { Managed } from '../network/http.js'
import { openReceiver, type Received, type Receiver } from '../network/receiver.js'
import { passed } from '../time/until.js'

export const hookToken = 'hook-token-1'

export type Subscription = { readonly account: Account; readonly receiver: Receiver; readonly webhookId: string }

export const receiverFor = async (t: ExecutionContext): Promise<Receiver> => {
  const receiver = await openReceiver()
  t.teardown(receiver.close)
  return receiver
}

/** An account with one webhook, and what receives it. */
export const subscribed = async (
  t: ExecutionContext,
  where: Site,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Subscription> => {
  const [account, receiver] = await Promise.all([openAccount(where), receiverFor(t)])
  const webhookId = await account.addWebhook({ url: receiver.url, token: hookToken, ...settings })
  return { account, receiver, webhookId }
}

/** `query` begins with `&`. */
export const deliveriesOf = async (account: Account, webhookId: string, query = ''): Promise<ReadonlyArray<Managed>> =>
  having(await account.manage('GET', `/webhooks/${webhookId}/deliveries?limit=500${query}`), 'deliveries')

export const webhookOf = async (account: Account, webhookId: string): Promise<Managed | undefined> =>
  having(await account.manage('GET', '/webhooks'), 'webhooks').find(({ id }) => id === webhookId)

/** What is recorded a moment after a receiver has answered. */
export const eventually = async <A>(look: () => Promise<A>, isSo: (seen: A) => boolean): Promise<A> => {
  for (let tries = 0; tries < 500; tries += 1) {
    const seen = await look()
    if (isSo(seen)) return seen
    await passed(10)
  }
  return look()
}

export const settled = (account: Account, webhookId: string, count: number): Promise<ReadonlyArray<Managed>> =>
  eventually(
    () => deliveriesOf(account, webhookId),
    (all) => all.length === count && all.every(({ state }) => state !== 'due'),
  )

/** Resolves once the webhook is `on` or `off`, with what is shown of it. */
export const turned = (account: Account, webhookId: string, state: 'on' | 'off'): Promise<Managed | undefined> =>
  eventually(
    () => webhookOf(account, webhookId),
    (webhook) => webhook?.['state'] === state,
  )

export const webhookIdOf = ({ headers }: Received): string => String(headers['webhook-id'])
