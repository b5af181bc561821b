import { createTransport } from 'nodemailer'
import type { MailOutcome } from '../../domain/mail-outcome.js'
import { hostOf } from '../../domain/web-address.js'
import type { MailTransport } from '../../projections/notices/mail-transport.js'
import { messageOf } from './message.js'

type SmtpOptions = {
  /** `smtp://` or `smtps://`, with the query parameters of nodemailer that `app/composition/config.ts` lets through. */
  readonly url: string
  readonly from: string
  /** Milliseconds that the server may take for one answer, and for one mail in all. */
  readonly responseTimeout?: number
  readonly mailTimeout?: number
}

/** The `MailTransport` port: sends mail through a server, over pooled connections. */
export const smtpMail = ({
  url,
  from,
  responseTimeout = 10_000,
  mailTimeout = 20_000,
}: SmtpOptions): MailTransport & { readonly close: () => void } => {
  const transport = createTransport({
    pool: true,
    maxConnections: 4,
    // A mail that failed is retried by the caller.
    maxRequeues: 0,
    idleTimeout: 5_000,
    connectionTimeout: responseTimeout,
    greetingTimeout: responseTimeout,
    socketTimeout: responseTimeout,
    dnsTimeout: responseTimeout,
    ...serverOf(url),
  })
  return {
    send: async (mail) => {
      try {
        await transport.sendMail({ ...messageOf(mail, from), signal: AbortSignal.timeout(mailTimeout) })
        return 'sent'
      } catch (error) {
        return outcomeOf(error)
      }
    },
    close: () => transport.close(),
  }
}

const serverOf = (text: string) => {
  const url = new URL(text)
  const { protocol, port, username, password, searchParams } = url
  const user = decodeURIComponent(username)
  return {
    host: hostOf(url),
    ...(port === '' ? {} : { port: Number(port) }),
    secure: protocol === 'smtps:',
    requireTLS: searchParams.get('requireTLS') === 'true',
    tls: { rejectUnauthorized: searchParams.get('tls.rejectUnauthorized') !== 'false' },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(password) } }),
  }
}

type SmtpError = { readonly code?: unknown; readonly command?: unknown; readonly responseCode?: unknown }

/**
 * A mail goes to one address, so it is refused for good where the server refuses that address or the message; what the
 * server refuses before is about settings, its own or ours. Only its code is told, because its words may repeat the
 * address.
 */
const outcomeOf = (error: unknown): MailOutcome => {
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
