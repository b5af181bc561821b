import { createHmac } from 'node:crypto'
import { once, EventEmitter } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TwilioAccount } from '../../adapters/twilio/account.js'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import { refusalOf, type Refusal } from './refusals.js'

/** A message that was taken, with the form that asked for it. */
export type Taken = { readonly sid: string; readonly createdAt: Instant; readonly form: URLSearchParams }

/**
 * What happens to the next request. `late`: it is processed, and its answer is held back. `cut-before` and `cut-after`:
 * the connection is cut before it is processed, or after.
 */
type Fault = 'late' | 'cut-before' | 'cut-after' | (Refusal & { readonly headers?: Record<string, string> })

export type TwilioDouble = {
  readonly account: (sender?: string) => TwilioAccount
  readonly url: string
  readonly taken: ReadonlyArray<Taken>
  /** The SIDs of the messages that are gone, whoever wrote them. */
  readonly erased: ReadonlySet<string>
  /** The next request to erase the message comes before its final state, and is refused. */
  readonly isUnfinished: (sid: string) => void
  /** The paths and queries of the requests that came, with their methods. */
  readonly requests: ReadonlyArray<string>
  readonly optOut: (number: string) => void
  readonly fail: (fault: Fault) => void
  /** Resolves when a message is taken, before that is answered. */
  readonly taking: () => Promise<unknown>
  /** Resolves when an answer is held back. */
  readonly held: () => Promise<unknown>
  /** Posts the status of a message to the URL that its form asked for, signed; resolves to the status of the answer. */
  readonly postStatus: (message: Taken, status: string, errorCode?: number) => Promise<number>
  /** Posts a text that somebody wrote to `url`, signed; resolves to the status of the answer. */
  readonly postInbound: (url: string, fields: Readonly<Record<string, string>>) => Promise<number>
  readonly close: () => Promise<void>
}

export const number = '+14155550100'
/** Of the same owner, as the sender of one account. */
export const otherNumber = '+14155550101'
export const service = `MG${'0'.repeat(31)}1`

const accountSid = `AC${'0'.repeat(31)}1`
const authToken = 't0ken:with/all@sorts'
const path = `/2010-04-01/Accounts/${accountSid}/Messages.json`
const messagePath = new RegExp(`^/2010-04-01/Accounts/${accountSid}/Messages/(SM[0-9a-f]{32})\\.json$`)

/**
 * A server that speaks as Twilio's message resource does, on this machine; `largestPage` is how many messages a page
 * lists at most, `reached` where a public URL leads to, as a proxy would know.
 */
export const openTwilioDouble = async (
  now: () => Instant,
  largestPage = 1_000,
  reached = (url: string): string => url,
): Promise<TwilioDouble> => {
  const post = poster(reached)

  const taken: Array<Taken> = []
  const erased = new Set<string>()
  const unfinished = new Set<string>()
  const requests: Array<string> = []
  const optedOut = new Set<string>()
  const faults: Array<Fault> = []
  const events = new EventEmitter()
  const senders = { own: new Set([number, otherNumber, service]), optedOut }

  const take = (form: URLSearchParams): unknown => {
    const message = { sid: sidOf(taken.length + 1), createdAt: now(), form }
    taken.push(message)
    events.emit('taken')
    return shown(message)
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    const form = new URLSearchParams(await text(request))
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`)
    const fault = faults.shift()
    if (fault === 'cut-before') return void request.socket.destroy()
    if (typeof fault === 'object') {
      refuse(response, fault, fault.headers)
      return
    }
    const basic = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
    if (request.headers.authorization !== basic) {
      refuse(response, { status: 401, code: 20003 })
      return
    }
    const [, sid] = messagePath.exec(url.pathname) ?? []
    if (request.method === 'DELETE' && sid !== undefined) {
      if (unfinished.delete(sid)) {
        refuse(response, { status: 409, code: 20009 })
        return
      }
      erased.add(sid)
      response.writeHead(204).end()
      return
    }
    if (url.pathname !== path) {
      refuse(response, { status: 404, code: 20404 })
      return
    }
    const refusal = request.method === 'POST' ? refusalOf(form, senders) : undefined
    if (refusal !== undefined) {
      refuse(response, refusal)
      return
    }
    const body =
      request.method === 'POST'
        ? take(form)
        : pageOf(
            taken.filter((one) => !erased.has(one.sid)),
            url.searchParams,
            largestPage,
          )
    if (fault === 'late') return void events.emit('held')
    if (fault === 'cut-after') return void request.socket.destroy()
    send(response, request.method === 'POST' ? 201 : 200, body)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `twilio://${accountSid}:${encodeURIComponent(authToken)}@127.0.0.1:${port}?tls=false&from=`,
    account: (sender = number) => ({ baseUrl: `http://127.0.0.1:${port}`, accountSid, authToken, sender }),
    taken,
    erased,
    isUnfinished: (sid) => void unfinished.add(sid),
    requests,
    optOut: (to) => void optedOut.add(to),
    fail: (fault) => void faults.push(fault),
    taking: () => once(events, 'taken'),
    held: () => once(events, 'held'),
    postStatus: ({ sid, form }, status, errorCode) => {
      const fields = { AccountSid: accountSid, MessageSid: sid, MessageStatus: status, To: form.get('To') ?? '' }
      return post(form.get('StatusCallback') ?? '', {
        ...fields,
        ...(errorCode === undefined ? {} : { ErrorCode: String(errorCode) }),
      })
    },
    postInbound: (url, fields) => post(url, { AccountSid: accountSid, NumMedia: '0', ...fields }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const sidOf = (n: number): string => `SM${n.toString(16).padStart(32, '0')}`

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

const refuse = (response: ServerResponse, { status, code }: Refusal, headers?: Record<string, string>): void =>
  send(response, status, { code, message: `refused: +14155550123 says ${code}`, status }, headers)

/** A message as a list shows it. A Messaging Service has not picked a number yet. */
const shown = ({ sid, createdAt, form }: Taken) => ({
  sid,
  account_sid: accountSid,
  body: form.get('Body'),
  to: form.get('To'),
  from: form.get('From'),
  messaging_service_sid: form.get('MessagingServiceSid'),
  direction: 'outbound-api',
  status: 'queued',
  date_created: new Date(Math.floor(millisecondsOf(createdAt) / 1_000) * 1_000).toUTCString().replace('GMT', '+0000'),
  date_sent: null,
  error_code: null,
})

/** The newest messages first. */
const pageOf = (taken: ReadonlyArray<Taken>, query: URLSearchParams, largestPage: number): unknown => {
  const to = query.get('To')
  const [size, page] = [Math.min(Number(query.get('PageSize') ?? 50), largestPage), Number(query.get('Page') ?? 0)]
  const listed = taken.filter(({ form }) => to === null || form.get('To') === to).toReversed()
  const next = new URLSearchParams(
    [...query, ['Page', String(page + 1)]].filter(([name], index, all) => {
      return all.findLastIndex(([other]) => other === name) === index
    }) as Array<[string, string]>,
  )
  return {
    messages: listed.slice(page * size, (page + 1) * size).map(shown),
    next_page_uri: listed.length > (page + 1) * size ? `${path}?${next.toString()}` : null,
    page,
    page_size: size,
  }
}

const poster = (reached: (url: string) => string) => async (url: string, fields: Readonly<Record<string, string>>) => {
  const signed =
    url +
    Object.keys(fields)
      .sort()
      .map((name) => `${name}${fields[name] ?? ''}`)
      .join('')
  const signature = createHmac('sha1', authToken).update(signed).digest('base64')
  const response = await fetch(reached(url), {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { 'x-twilio-signature': signature },
  })
  return response.status
}
