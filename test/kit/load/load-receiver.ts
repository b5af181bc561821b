import { receiverFor } from '../network/receiver.js'
import type { Scope } from '../temporary-directory.js'
import { webhookIdOf } from '../service/subscription.js'

/** Receives the webhooks of an account under load. */
export type LoadReceiver = {
  readonly url: string
  /** By the `webhook-id` that they came with, the bodies of all requests. */
  readonly bodies: ReadonlyMap<string, ReadonlyArray<string>>
  /** Requests that did not show where they came from. */
  readonly unauthorized: ReadonlyArray<string>
}

export const loadToken = 'the-token-of-the-receiver'

/** `arrived` is called before the nth request is answered, with n from 1 on; the answer waits for it. */
export const startReceiver = async (
  scope: Scope,
  arrived: (nth: number, id: string) => Promise<void> | void = () => undefined,
): Promise<LoadReceiver> => {
  const receiver = await receiverFor(scope)
  const bodies = new Map<string, Array<string>>()
  const unauthorized: Array<string> = []
  receiver.answer((nth, response) => {
    const request = receiver.requests[nth - 1]
    if (request === undefined) throw new Error('it has not come')
    const id = webhookIdOf(request)
    if (request.headers.authorization !== `Bearer ${loadToken}`) unauthorized.push(id)
    bodies.set(id, [...(bodies.get(id) ?? []), request.body.toString('utf8')])
    void Promise.resolve(arrived(nth, id)).then(() => response.writeHead(204).end())
    return undefined
  })
  return { url: receiver.url, bodies, unauthorized }
}
