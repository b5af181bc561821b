import { Agent, request as openRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'

/** A contact as the contract shows it (2.1). */
export type Contact = {
  readonly id: string
  readonly first_name: string
  readonly last_name: string
  readonly email: string
  readonly phone: string
  readonly opted_out: boolean
  readonly created_at: string
  readonly additional_info: Readonly<Record<string, string>>
  readonly referral: Readonly<Record<string, string>>
}

export type Conversion = {
  readonly id: string
  readonly title: string
  readonly value: number
  readonly created_at: string
}

type ConversionRecord = {
  readonly id: string
  readonly contact_id: string
  readonly converted_at: string
  readonly value: number
  readonly conversion_id: string
}

export type Activity = {
  readonly type: string
  readonly label: string
  readonly next_engagement_id: string
  readonly play_id: null
  readonly note?: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
}

/** Something of the management API: its fields differ from call to call. */
export type Managed = { readonly id: string; readonly created_at: string; readonly [field: string]: unknown }

/** One event in the log of a delivery. */
type LogEntry = {
  readonly at: string
  readonly type: string
  readonly by: string
  readonly outcome?: Readonly<Record<string, unknown>> | null
  readonly [field: string]: unknown
}

/** Every field that an answer of the service may have at the top. */
export type Body = {
  readonly errors?: ReadonlyArray<string>
  readonly error?: string
  readonly message?: string
  readonly contact?: Contact
  readonly conversions?: ReadonlyArray<Conversion>
  readonly conversion_contact?: ConversionRecord
  readonly lead_id?: string
  readonly contact_id?: string
  readonly next_engagement_id?: string
  readonly account?: Managed
  readonly api_key?: string | Managed
  readonly secret?: string
  readonly member?: Managed
  readonly playbook?: Managed
  readonly playbooks?: ReadonlyArray<Managed>
  readonly marketing_source?: Managed & { readonly post_url: string }
  readonly marketing_sources?: ReadonlyArray<Managed>
  readonly leads?: ReadonlyArray<Managed>
  readonly conversion?: Conversion
  readonly webhook?: Managed
  readonly webhooks?: ReadonlyArray<Managed>
  readonly deliveries?: ReadonlyArray<Managed>
  readonly count?: number
  readonly delivery?: Managed & { readonly log?: ReadonlyArray<LogEntry> }
  readonly resend?: Managed
  readonly resends?: ReadonlyArray<Managed>
  readonly activity?: Activity
  readonly timeline?: ReadonlyArray<Managed & { readonly kind: string }>
  readonly messages?: ReadonlyArray<Managed>
  readonly follow_ups?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly erased?: boolean | 'pending'
  readonly next_cursor?: string | null
  readonly status?: string
  readonly projections?: ReadonlyArray<{
    readonly name: string
    readonly lag: number
    readonly failure: string | null
    readonly retrying: string | null
  }>
  readonly parked?: ReadonlyArray<Managed> | Managed
  readonly starting?: ReadonlyArray<string>
}

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Empty where the text is no JSON object. */
  readonly body: Body
}

export type Sent = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Where a service answers. */
export type Site = { readonly url: string }

const sharedConnections = new Agent({ keepAlive: true, maxSockets: 64 })

/** How long a service may take for an answer before that counts as a hang, in milliseconds. */
const longestAnswer = 60_000

/**
 * One request, sent as it stands: nothing is added to the headers but the length of the body. Rejects where no whole
 * answer comes.
 */
export const send = (
  url: string,
  { method = 'GET', headers = {}, body }: Sent = {},
  agent = sharedConnections,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const request = openRequest(url, { method, agent, headers: { ...length, ...headers } }, (response) => {
      const chunks: Array<Buffer> = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: bodyIn(text) })
      })
    })
    request.setTimeout(longestAnswer, () => {
      request.destroy(new Error(`no answer within ${longestAnswer} ms`))
    })
    request.once('error', reject)
    request.end(body)
  })

/** A client of one service, with connections of its own: they end with `close`, or when the service is killed. */
export type Client = { readonly send: (path: string, sent?: Sent) => Promise<Answer>; readonly close: () => void }

export const clientOf = (url: string): Client => {
  const connections = new Agent({ keepAlive: true })
  return { send: (path, sent) => send(url + path, sent, connections), close: () => connections.destroy() }
}

export const bearer = (key: string): { readonly authorization: string } => ({ authorization: `Bearer ${key}` })

/** A request with a body in JSON. */
export const json = (value: unknown, headers: Sent['headers'] = {}, method = 'POST'): Sent => ({
  method,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})

/** A request with the body of a form. */
export const form = (fields: Readonly<Record<string, string>> | string, headers: Sent['headers'] = {}): Sent => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  body: new URLSearchParams(fields).toString(),
})

export const sendJson = (url: string, method: string, value: unknown, headers?: Sent['headers']): Promise<Answer> =>
  send(url, json(value, headers, method))

export const sendForm = (
  url: string,
  fields: Readonly<Record<string, string>> | string,
  headers?: Sent['headers'],
): Promise<Answer> => send(url, form(fields, headers))

/** What an answer must have; a test that meets another answer fails with it. */
export const having = <Name extends keyof Required<Body>>(answer: Answer, name: Name): NonNullable<Body[Name]> => {
  const value = answer.body[name]
  if (value === undefined) throw new Error(`${answer.status} without ${name}: ${answer.text}`)
  return value
}

/** The fields that an errors list names: the first word of each message. */
export const namedIn = (answer: Answer): ReadonlyArray<string> =>
  (answer.body.errors ?? []).map((message) => message.split(' ', 1)[0] ?? '')

const bodyIn = (text: string): Body => {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {}
  }
}

/** What came back on a connection of its own; `status` is undefined when it was closed without an answer. */
type RawAnswer = { readonly status: number | undefined; readonly text: string; readonly ended: boolean }

/** Writes these bytes to the service and reads until it closes the connection or `milliseconds` have passed. */
export const sendRaw = (url: string, bytes: string | Uint8Array, milliseconds = 60_000): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let text = ''
    const over = (ended: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]
      resolve({ status: status === undefined ? undefined : Number(status), text, ended })
    }
    const timer = setTimeout(() => {
      over(false)
    }, milliseconds)
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    socket.once('close', () => {
      over(true)
    })
    socket.once('error', () => undefined)
    socket.write(bytes)
  })
