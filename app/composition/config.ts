import type { TwilioAccount } from '../../adapters/twilio/account.js'
import { twilioAccountFrom } from '../../adapters/twilio/url.js'
import { decode, fromText, t } from '../../domain/codec.js'
import { E, type Either } from '../../domain/prelude.js'
import { urlFromText, webAddressFromText } from '../../domain/web-address.js'

export type Config = {
  readonly host: string
  readonly port: number
  /** Where clients reach the service, without a slash at the end; undefined: where it listens. */
  readonly publicUrl: string | undefined
  readonly dataDir: string
  readonly operatorKey: string | undefined
  /** 32 bytes. */
  readonly secretKey: Buffer | undefined
  readonly allowPrivateWebhooks: boolean
  readonly logLevel: string
  readonly clockRate: number
  /** Undefined: bodies of deliveries are kept for ever. */
  readonly deliveryRetentionDays: number | undefined
  /** Undefined: texts of messages are kept for ever. */
  readonly messageRetentionDays: number | undefined
  /** Undefined: the log is embedded in the data directory. */
  readonly eventStoreUrl: string | undefined
  /** Undefined: the read models are embedded in the data directory. */
  readonly mongoUrl: string | undefined
  /** Undefined: mail goes to files in the data directory. */
  readonly smtpUrl: string | undefined
  /** Undefined: consents are not verified beyond what the account accepts. */
  readonly consentVerifierUrl: string | undefined
  /** Undefined: texts are kept in the service. Set only where `publicUrl` is. */
  readonly sms: TwilioAccount | undefined
  readonly roles: ReadonlySet<ProcessRole>
}

/** Whether other processes may use the same stores. What is embedded, the log or the documents, one alone uses. */
export const areStoresShared = ({ eventStoreUrl, mongoUrl }: Pick<Config, 'eventStoreUrl' | 'mongoUrl'>): boolean =>
  eventStoreUrl !== undefined && mongoUrl !== undefined

/**
 * What a process does: `api` answers requests, `projector` follows the log, `delivery` posts to webhooks, mails notices
 * and sends the texts of playbooks.
 */
export const roles = ['api', 'projector', 'delivery'] as const
export type ProcessRole = (typeof roles)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** Decodes the environment once; left: one sentence for each setting that is wrong, without its value. */
export const configFrom = (environment: Environment): Either<ReadonlyArray<string>, Config> => {
  const settings = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''))
  const decoded = decode(Settings, settings)
  if (E.isLeft(decoded)) return E.left(decoded.left.map(({ path, expected }) => `${path} must be ${expected}.`))
  const { HOST, PORT, PUBLIC_URL, DATA_DIR, OPERATOR_KEY, SECRET_KEY, ALLOW_PRIVATE_WEBHOOKS, LOG_LEVEL, CLOCK_RATE } =
    decoded.right
  const { EVENTSTORE_URL, MONGODB_URL, SMTP_URL, SMS_URL, CONSENT_VERIFIER_URL, ROLES } = decoded.right
  const { DELIVERY_RETENTION_DAYS, MESSAGE_RETENTION_DAYS } = decoded.right
  if (ROLES !== undefined && ROLES.size < roles.length && (EVENTSTORE_URL === undefined || MONGODB_URL === undefined)) {
    return E.left(['ROLES must be left unset unless EVENTSTORE_URL and MONGODB_URL are both given.'])
  }
  const sms = SMS_URL === undefined ? E.right(undefined) : twilioAccountFrom(SMS_URL)
  if (E.isLeft(sms)) return E.left([sms.left])
  if (sms.right !== undefined && PUBLIC_URL === undefined) {
    return E.left(['PUBLIC_URL must be given with SMS_URL: the provider reports to it, and signs it.'])
  }
  return E.right({
    host: HOST ?? '127.0.0.1',
    port: PORT ?? 8080,
    publicUrl: PUBLIC_URL,
    dataDir: DATA_DIR ?? './data',
    operatorKey: OPERATOR_KEY,
    secretKey: SECRET_KEY,
    allowPrivateWebhooks: ALLOW_PRIVATE_WEBHOOKS ?? false,
    logLevel: LOG_LEVEL ?? 'info',
    clockRate: CLOCK_RATE ?? 1,
    deliveryRetentionDays: DELIVERY_RETENTION_DAYS,
    messageRetentionDays: MESSAGE_RETENTION_DAYS,
    eventStoreUrl: EVENTSTORE_URL,
    mongoUrl: MONGODB_URL,
    smtpUrl: SMTP_URL,
    consentVerifierUrl: CONSENT_VERIFIER_URL,
    sms: sms.right,
    roles: ROLES ?? new Set(roles),
  })
}

/** A codec for a setting: `read` gives its value, or undefined where it can't be one. */
const setting = <A>(name: string, read: (text: string) => A | undefined) => fromText(name, (text) => read(text.trim()))

const numberWithin =
  (least: number, most: number, isWhole: boolean) =>
  (text: string): number | undefined => {
    const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
    return number >= least && number <= most && (!isWhole || Number.isInteger(number)) ? number : undefined
  }

const siteUrl = (text: string): string | undefined => {
  const url = webAddressFromText(text)
  if (url === undefined) return undefined
  const isPlain = url.username === '' && url.password === ''
  // Post URLs begin with the text as it stands: what a URL is read in spite of would stand in the midst of each.
  return isPlain && /^https?:\/\/[^\s?#\\]+$/i.test(text) ? text.replace(/\/+$/, '') : undefined
}

/** Buffer skips what is no base64 and ends at a `=`: of two keys it would take the first, and no one would know. */
export const secretKeyFrom = (text: string): Buffer | undefined =>
  /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64url') : undefined

export const operatorKeyForm = 'at least 16 characters long, all of them ASCII and none a blank'

/** What a header can carry as it is: any other key would be taken, and never be met by a request. */
export const isOperatorKey = (text: string): boolean => /^[\x21-\x7e]{16,}$/.test(text)

const levels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']

const beginsWith =
  (...schemes: ReadonlyArray<string>) =>
  (text: string): string | undefined =>
    schemes.some((scheme) => text.startsWith(`${scheme}://`)) ? text : undefined

/** What a query may say: whether TLS is a must, and whether certificates are checked. */
const smtpOptions = ['requireTLS', 'tls.rejectUnauthorized']

const smtpUrl = (text: string): string | undefined => {
  const url = urlFromText(text)
  if (url === undefined) return undefined
  const { protocol, hostname, pathname, searchParams, hash, username, password } = url
  const isServer = ['smtp:', 'smtps:'].includes(protocol) && hostname !== '' && ['', '/'].includes(pathname)
  // Of one that stands twice the first would count, be it the one that does without TLS.
  const isKnown = [...searchParams].every(
    ([name, value]) =>
      smtpOptions.includes(name) && ['true', 'false'].includes(value) && searchParams.getAll(name).length === 1,
  )
  return isServer && isKnown && hash === '' && isDecodable(username) && isDecodable(password) ? text : undefined
}

/** It may carry a user and a password, and a path and a query of its own. */
const serviceUrl = (text: string): string | undefined => {
  const url = webAddressFromText(text)
  const isUsable = url !== undefined && url.hash === '' && isDecodable(url.username) && isDecodable(url.password)
  return isUsable ? text : undefined
}

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const roleSet = (text: string): ReadonlySet<ProcessRole> | undefined => {
  const named = text.split(',').map((name) => name.trim())
  const known = roles.filter((role) => named.includes(role))
  return named.every((name) => roles.some((role) => role === name)) ? new Set(known) : undefined
}

const flags: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

const wholeDays = 'a whole number of days from 1 to 36500'

const Settings = t.partial({
  HOST: t.string,
  PORT: setting('a port number from 0 to 65535', numberWithin(0, 65_535, true)),
  PUBLIC_URL: setting('an http or https URL without user, query and fragment', siteUrl),
  DATA_DIR: t.string,
  OPERATOR_KEY: setting(operatorKeyForm, (text) => (isOperatorKey(text) ? text : undefined)),
  SECRET_KEY: setting('32 bytes in base64 and nothing else', secretKeyFrom),
  ALLOW_PRIVATE_WEBHOOKS: setting('true or false', (text) => flags.get(text)),
  LOG_LEVEL: setting(`one of ${levels.join(', ')}`, (text) => (levels.includes(text) ? text : undefined)),
  CLOCK_RATE: setting('a number from 0.001 to 1000000', numberWithin(0.001, 1_000_000, false)),
  DELIVERY_RETENTION_DAYS: setting(wholeDays, numberWithin(1, 36_500, true)),
  MESSAGE_RETENTION_DAYS: setting(wholeDays, numberWithin(1, 36_500, true)),
  EVENTSTORE_URL: setting('an esdb:// or esdb+discover:// connection string', beginsWith('esdb', 'esdb+discover')),
  MONGODB_URL: setting('a mongodb:// or mongodb+srv:// connection string', beginsWith('mongodb', 'mongodb+srv')),
  SMTP_URL: setting(`an smtp:// or smtps:// URL, without options but ${smtpOptions.join(' and ')}`, smtpUrl),
  CONSENT_VERIFIER_URL: setting('an http or https URL without fragment', serviceUrl),
  SMS_URL: t.string,
  ROLES: setting(`a list of ${roles.join(', ')}`, roleSet),
})
