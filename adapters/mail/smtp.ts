import { createTransport } from 'nodemailer'
import type { Mailing, MailSender } from '../../projections/notices/sender.js'
import { messageOf } from './message.js'

export type SmtpOptions = {
  /** `smtp://` or `smtps://`, with the query parameters of nodemailer that `app/composition/config.ts` lets through. */
  readonly url: string
  readonly from: string
  /** Milliseconds that the server may be silent, and that one mail may take in all. */
  readonly silence?: number
  readonly longest?: number
}

/** Hands mail to a server, over connections that are kept for a while and used again. */
export const smtpMail = ({
  url,
  from,
  silence = 10_000,
  longest = 20_000,
}: SmtpOptions): MailSender & { readonly close: () => void } => {
  const transport = createTransport({
    pool: true,
    maxConnections: 4,
    // A mail that failed is tried again by whoever asked for it.
    maxRequeues: 0,
    idleTimeout: 5_000,
    connectionTimeout: silence,
    greetingTimeout: silence,
    socketTimeout: silence,
    dnsTimeout: silence,
    ...serverOf(url),
  })
  return {
    send: async (mail) => {
      try {
        await transport.sendMail({ ...messageOf(mail, from), signal: AbortSignal.timeout(longest) })
        return 'sent'
      } catch (error) {
        return outcomeOf(error)
      }
    },
    close: () => transport.close(),
  }
}

const serverOf = (text: string) => {
  const { protocol, hostname, port, username, password, searchParams } = new URL(text)
  const user = decodeURIComponent(username)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    secure: protocol === 'smtps:',
    requireTLS: searchParams.get('requireTLS') === 'true',
    tls: { rejectUnauthorized: searchParams.get('tls.rejectUnauthorized') !== 'false' },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(password) } }),
  }
}

type SmtpError = { readonly code?: unknown; readonly command?: unknown; readonly responseCode?: unknown }

/**
 * A mail goes to one address, so it is refused for good where that address or the message is: what a server says before
 * that is about the server's settings or ours. Only its code is told: its words may repeat the address.
 */
const outcomeOf = (error: unknown): Mailing => {
  const { code, command, responseCode } = error as SmtpError
  if (typeof responseCode === 'number') {
    const isFinal = responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA')
    return { kind: isFinal ? 'refused' : 'failed', reason: `SMTP ${responseCode}` }
  }
  if (code === 'EENVELOPE') return { kind: 'refused', reason: 'not an address that can be mailed to' }
  return { kind: 'failed', reason: failures.get(code) ?? 'no response' }
}

const failures: ReadonlyMap<unknown, string> = new Map([
  ['EDNS', 'no connection'],
  ['ECONNECTION', 'no connection'],
  ['ESOCKET', 'no connection'],
  ['ETLS', 'no secure connection'],
])
