import { type Answer, type Sent, bearer, type Site, json } from '../../kit/network/http.js'
import type { Fields } from '../../kit/service/leads.js'
import type { Receiver } from '../../kit/network/receiver.js'
import { operatorKey } from '../../kit/service/settings.js'
import type { Account } from '../../kit/service/account.js'
import { deliveriesOf } from '../../kit/service/subscription.js'
import { until } from '../../kit/time/until.js'
import type { Recorder } from './recorder.js'

/** Everything that the script plays on. */
export type Stage = {
  readonly recorder: Recorder
  readonly receiver: Receiver
  /** What the receiver answers at a path; 200 where nothing is said. */
  readonly answers: Map<string, number>
  readonly main: Site
  /** Its clock stands still: no minute ends and no retry comes, however slow the machine is. */
  readonly still: Site
  /** Its clock runs a million times as fast: four days of retries pass in a third of a second. */
  readonly rushing: Site
  /** It posts to no webhook: what is due stays due, and what runs goes on running. */
  readonly idle: Site
  /** Clients reach it at a public URL, and its webhooks may not lead to private addresses. */
  readonly strict: Site
}

/** A value as it stands in the name of an exchange. */
export const inWords = (value: unknown): string =>
  value === undefined ? 'nothing' : JSON.stringify(value).replaceAll(/x{9,}/g, 'x…')

/** Many times one character, for what is too long. */
export const long = (length: number): string => 'x'.repeat(length)

/** A body that is sent as it stands, and says of itself that it is JSON. */
export const raw = (body: string, headers: Sent['headers'] = {}, method = 'POST'): Sent => ({
  method,
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

export const form = (body: string, headers: Sent['headers'] = {}): Sent => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body,
})

/** Calls of one account that are written down, under names that begin with the same words. */
export type Calls = {
  readonly submit: (name: string, fields: Fields, headers?: Sent['headers']) => Promise<Answer>
  readonly rest: (name: string, path: string, body?: unknown) => Promise<Answer>
  readonly record: (name: string, conversionId: string, fields: Fields) => Promise<Answer>
  readonly manage: (name: string, method: string, path: string, body?: unknown) => Promise<Answer>
  /** A GET of the management API that is repeated until the answer `isSo`. */
  readonly shown: (name: string, path: string, isSo: (answer: Answer) => boolean) => Promise<Answer>
}

export const callsOf = ({ ask, askUntil }: Recorder, site: Site, account: Account, words: string): Calls => {
  const key = bearer(account.apiKey)
  const operator = bearer(operatorKey)
  const inAccount = `${site.url}/manage/v1/accounts/${account.id}`
  const rest: Calls['rest'] = (name, path, body) =>
    ask(`${words}: ${name}`, `${site.url}/api/v3${path}`, body === undefined ? { headers: key } : json(body, key))
  return {
    submit: (name, fields, headers) => ask(`${words}: ${name}`, account.postUrl, json(fields, headers)),
    rest,
    record: (name, conversionId, fields) =>
      rest(name, `/conversions/${conversionId}/events`, { conversion_contact: fields }),
    manage: (name, method, path, body) =>
      ask(
        `${words}: ${name}`,
        inAccount + path,
        body === undefined ? { method, headers: operator } : json(body, operator, method),
      ),
    shown: (name, path, isSo) => askUntil(`${words}: ${name}`, inAccount + path, isSo, { headers: operator }),
  }
}

/** In milliseconds: a delivery that takes longer does not come. */
const longestWait = 60_000

/** Resolves once so many more requests reached the receiver and nothing is due to these webhooks. */
export const delivering = (
  receiver: Receiver,
  account: Account,
  webhooks: ReadonlyArray<string>,
): ((more: number) => Promise<void>) => {
  const isSettled = async (id: string): Promise<boolean> =>
    (await deliveriesOf(account, id)).every(({ state }) => state !== 'due')
  let expected = receiver.requests.length
  return async (more) => {
    expected += more
    await receiver.received(expected)
    for (const id of webhooks) await until('a delivery is settled', longestWait, () => isSettled(id))
  }
}

/** Whether a list of the answer has so many entries, all of which are so. */
export const listing =
  (
    name: 'deliveries' | 'resends' | 'timeline' | 'webhooks',
    count: number,
    isSo: (one: Readonly<Record<string, unknown>>) => boolean = () => true,
  ) =>
  ({ body }: Answer): boolean =>
    body[name]?.length === count && body[name].every(isSo)
