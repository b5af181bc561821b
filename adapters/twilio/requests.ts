import * as http from 'node:http'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import fetch from 'node-fetch'
import type { TwilioAccount } from './account.js'

/** A request, with the path and query of its URL; with a form it is a POST unless it says otherwise. */
type TwilioRequest = {
  readonly path: string
  readonly form?: URLSearchParams
  readonly method?: 'GET' | 'POST' | 'DELETE'
}

/**
 * How a request ended. `not-sent`: no connection stood, so nothing of it went out. `unanswered`: it may have been
 * processed. The body of an answer is undefined where it is no JSON, or too long.
 */
export type TwilioAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown; readonly retryAfter: string | null }
  | { readonly kind: 'not-sent' | 'unanswered' }

/** Bytes of a body that are read at most: a page of 50 messages of 1,600 characters is well below. */
const largestBody = 1_000_000

/** Asks with the account's credentials. Never rejects; ends when `signal` aborts. */
export const askTwilio = async (
  { baseUrl, accountSid, authToken }: TwilioAccount,
  { path, form, method = form === undefined ? 'GET' : 'POST' }: TwilioRequest,
  signal: AbortSignal,
): Promise<TwilioAnswer> => {
  const { agent, isConnected } = watchedAgent(baseUrl.startsWith('https:'))
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      ...(form === undefined ? {} : { body: form }),
      headers: {
        authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
        accept: 'application/json',
        'user-agent': 'Leadloop',
      },
      redirect: 'manual',
      compress: false,
      size: largestBody,
      agent,
      signal,
    })
    const body: unknown = await response.json().catch(() => undefined)
    return { kind: 'answered', status: response.status, body, retryAfter: response.headers.get('retry-after') }
  } catch {
    return { kind: isConnected() ? 'unanswered' : 'not-sent' }
  } finally {
    agent.destroy()
  }
}

/** The method of an agent that its type declaration leaves out. */
type ConnectingAgent = { createConnection: (options: unknown, made: unknown) => Socket }

/**
 * An agent for one request, which knows whether its connection stands. Connections are not reused: one that the server
 * has closed in the meantime would leave open whether a message was taken.
 */
const watchedAgent = (isSecure: boolean) => {
  const agent = isSecure ? new https.Agent({ rejectUnauthorized: true }) : new http.Agent()
  const connecting = agent as unknown as ConnectingAgent
  const create = connecting.createConnection.bind(agent)
  let isConnected = false
  connecting.createConnection = (options, made) =>
    create(options, made).once(isSecure ? 'secureConnect' : 'connect', () => {
      isConnected = true
    })
  return { agent, isConnected: () => isConnected }
}
