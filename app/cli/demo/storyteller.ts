import fetch from 'node-fetch'
import { decode, t } from '../../../domain/codec.js'
import { E } from '../../../domain/prelude.js'
import { narrator, type Narrator } from './narrator.js'
import type { Receiver } from './receiver.js'

/** Something that the story did not foresee; the message is for the reader. */
export class Surprise extends Error {}

export type Call<A> = {
  readonly method?: 'GET' | 'POST' | 'PATCH'
  readonly url: string
  readonly key?: string
  readonly body?: unknown
  /** The status and the part of the answer that the story needs. */
  readonly status: number
  readonly answer: t.Decoder<unknown, A>
}

/** Makes real requests, and tells of them. */
export type Storyteller = Pick<Narrator, 'say' | 'table'> & {
  /** Begins the next step of the story; a reader on a terminal gets a moment for it. */
  readonly step: (title: string) => Promise<void>
  /** One request, told; gives the part of the answer that the story needs. */
  readonly tell: <A>(call: Call<A>) => Promise<A>
  /** One request without a word; undefined where the answer is not the one that the story needs. */
  readonly ask: <A>(call: Call<A>) => Promise<A | undefined>
  /** The next webhook, told: it must carry the token and be about `label`. */
  readonly tellWebhook: (receiver: Receiver, token: string, label: string) => Promise<void>
}

type Audience = { readonly write: (text: string) => void; readonly hasColours: boolean; readonly isTerminal: boolean }

export const storyteller = ({ write, hasColours, isTerminal }: Audience): Storyteller => {
  const { heading, say, request, answer, table } = narrator(write, hasColours)
  return {
    say,
    table,
    step: async (title) => {
      if (isTerminal) await new Promise((resolve) => setTimeout(resolve, 350))
      heading(title)
    },
    tell: async (call) => {
      const { method = 'GET', url, body } = call
      const { headers, status, answered, value } = await made(call)
      request(method, url, headers, body)
      answer(status, answered)
      if (value === undefined) throw new Surprise(`${method} ${new URL(url).pathname} was to answer ${call.status}.`)
      return value
    },
    ask: async (call) => (await made(call)).value,
    tellWebhook: async ({ url, next }, token, label) => {
      const { headers, body } = await next()
      const isShown = (name: string): boolean => /^(authorization|content-type|webhook-.*)$/.test(name)
      const shown = Object.entries(headers).filter(([name]) => isShown(name))
      const sent: unknown = JSON.parse(body)
      request('POST', url, Object.fromEntries(shown.map(([name, value]) => [name, String(value)])), sent)
      answer(204, undefined)
      if (headers.authorization !== `Bearer ${token}`) throw new Surprise('The webhook came without its token.')
      const decoded = decode(Webhook, sent)
      const isAbout = E.isRight(decoded) && decoded.right.activity.label === label
      if (!isAbout) throw new Surprise(`The webhook was to be ${label}.`)
    },
  }
}

const Webhook = t.type({ activity: t.type({ label: t.string }) })

/** `value` is undefined where the answer is not the one that was expected. */
const made = async <A>({ method = 'GET', url, key, body, status, answer: codec }: Call<A>) => {
  const headers: Record<string, string> = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const answered: unknown = await response.json()
  const decoded = decode(codec, answered)
  const isExpected = response.status === status && E.isRight(decoded)
  return { headers, status: response.status, answered, value: isExpected ? decoded.right : undefined }
}
