import test from 'ava'
import { randomBytes } from 'node:crypto'
import { configFrom } from '../../../app/composition/config.js'
import { E } from '../../../domain/prelude.js'

const wrongSettings: ReadonlyArray<readonly [string, string]> = [
  ['PORT', 'eighty'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PUBLIC_URL', 'leads.example.com'],
  ['PUBLIC_URL', 'ftp://leads.example.com'],
  ['PUBLIC_URL', 'https://leads.example.com/?a=1'],
  ['PUBLIC_URL', 'https://user:word@leads.example.com'],
  ['PUBLIC_URL', 'https://:word@leads.example.com'],
  ['PUBLIC_URL', 'https://leads.example.com/?'],
  ['PUBLIC_URL', 'https://leads.example.com/#'],
  ['PUBLIC_URL', 'https://leads.example.com/a b'],
  ['OPERATOR_KEY', 'short-key'],
  ['OPERATOR_KEY', 'an operator key of words'],
  ['OPERATOR_KEY', 'a\tkey-of-17-letters'],
  ['OPERATOR_KEY', 'schlüssel-für-alle'],
  ['SECRET_KEY', 'not-thirty-two-bytes'],
  ['SECRET_KEY', randomBytes(31).toString('base64')],
  ['SECRET_KEY', randomBytes(33).toString('base64')],
  ['SECRET_KEY', randomBytes(32).toString('base64').repeat(2)],
  ['SECRET_KEY', `${randomBytes(32).toString('base64')},${randomBytes(32).toString('base64')}`],
  ['SECRET_KEY', `"${randomBytes(32).toString('base64')}"`],
  ['ALLOW_PRIVATE_WEBHOOKS', 'perhaps'],
  ['ALLOW_PRIVATE_WEBHOOKS', 'constructor'],
  ['LOG_LEVEL', 'chatty'],
  ['CLOCK_RATE', 'fast'],
  ['CLOCK_RATE', '0'],
  ['CLOCK_RATE', '-2'],
  ['CLOCK_RATE', '1000001'],
  ['EVENTSTORE_URL', 'events.example.com:2113'],
  ['EVENTSTORE_URL', 'https://user:word@events.example.com'],
  ['EVENTSTORE_URL', 'kurrentdb://user:word@events.example.com'],
  ['MONGODB_URL', '127.0.0.1:27017'],
  ['MONGODB_URL', 'postgres://user:word@documents.example.com'],
  ['SMTP_URL', 'mail.example.com:587'],
  ['SMTP_URL', 'https://user:word@mail.example.com'],
  ['SMTP_URL', 'smtp:///mail'],
  ['SMTP_URL', 'smtp://user:wo%rd@mail.example.com'],
  ['SMTP_URL', 'smtp://mail.example.com?logger=true'],
  ['SMTP_URL', 'smtp://mail.example.com/inbox'],
  ['SMTP_URL', 'smtp://mail.example.com?requireTLS=true&requireTLS=false'],
  ['CONSENT_VERIFIER_URL', 'consents.example.com'],
  ['CONSENT_VERIFIER_URL', 'ftp://consents.example.com/'],
  ['CONSENT_VERIFIER_URL', 'https://consents.example.com/#there'],
  ['CONSENT_VERIFIER_URL', 'https://user:wo%rd@consents.example.com/'],
  ['ROLES', 'delivery'],
  ['ROLES', 'api,projector'],
  ['ROLES', 'api,,delivery'],
  ['ROLES', 'projector;delivery'],
  ['ROLES', 'DELIVERY'],
  ['ROLES', 'api,reader'],
]

test('a wrong setting is one sentence that names it, and not its value', (t) => {
  for (const [name, value] of wrongSettings) {
    const config = configFrom({ [name]: value })
    const sentences = E.isLeft(config) ? config.left : []
    t.is(sentences.length, 1, `${name}=${value}`)
    t.regex(sentences[0] ?? '', new RegExp(`^${name} must be .+\\.$`))
    t.false(value.length > 3 && sentences[0]?.includes(value), `${name}=${value}`)
  }
})

test('a URL that holds more than it may is told what it must not hold', (t) => {
  for (const value of [
    'https://ada@leads.example.com',
    'https://leads.example.com/?a',
    'https://leads.example.com/#b',
  ]) {
    const must = 'an http or https URL without user, query and fragment'
    t.deepEqual(configFrom({ PUBLIC_URL: value }), E.left([`PUBLIC_URL must be ${must}.`]))
  }
  const fragment = configFrom({ CONSENT_VERIFIER_URL: 'https://consents.example.com/#there' })
  t.deepEqual(fragment, E.left(['CONSENT_VERIFIER_URL must be an http or https URL without fragment.']))
})

test('a key with something around it, as an older version took it, is told that there must be nothing else', (t) => {
  const quoted = configFrom({ SECRET_KEY: `"${randomBytes(32).toString('base64')}"` })
  t.deepEqual(quoted, E.left(['SECRET_KEY must be 32 bytes in base64 and nothing else.']))
})

test('settings are read as they are meant, and a blank one is unset', (t) => {
  const key = randomBytes(32)
  const config = configFrom({
    HOST: '0.0.0.0',
    PORT: ' 0 ',
    PUBLIC_URL: 'https://leads.example.com/base//',
    DATA_DIR: '/srv/leadloop',
    OPERATOR_KEY: 'sixteen-letters!',
    SECRET_KEY: key.toString('base64'),
    ALLOW_PRIVATE_WEBHOOKS: 'false',
    LOG_LEVEL: '  ',
    CLOCK_RATE: '0.5',
    HOME: '/root',
  })
  t.like(config, {
    right: {
      host: '0.0.0.0',
      port: 0,
      publicUrl: 'https://leads.example.com/base',
      dataDir: '/srv/leadloop',
      operatorKey: 'sixteen-letters!',
      allowPrivateWebhooks: false,
      logLevel: 'info',
      clockRate: 0.5,
    },
  })
  t.deepEqual(E.isRight(config) ? config.right.secretKey : undefined, key)
  t.like(configFrom({}), { right: { port: 8080, dataDir: './data', allowPrivateWebhooks: false, clockRate: 1 } })
})

test('bodies of deliveries are kept for ever, or for a whole number of days', (t) => {
  t.like(configFrom({}), { right: { deliveryRetentionDays: undefined } })
  t.like(configFrom({ DELIVERY_RETENTION_DAYS: '90' }), { right: { deliveryRetentionDays: 90 } })
  t.like(configFrom({ MESSAGE_RETENTION_DAYS: '30' }), { right: { messageRetentionDays: 30 } })
  for (const wrong of ['0', '1.5', 'soon', '-3']) {
    const sentence = 'DELIVERY_RETENTION_DAYS must be a whole number of days from 1 to 36500.'
    t.deepEqual(configFrom({ DELIVERY_RETENTION_DAYS: wrong }), E.left([sentence]))
  }
})

const servers = {
  EVENTSTORE_URL: 'esdb://user:word@events.example.com:2113',
  MONGODB_URL: 'mongodb+srv://user:word@documents.example.com/leads',
}

test('the URLs of servers are used as they stand, and unset ones are embedded stores', (t) => {
  t.like(configFrom(servers), { right: { eventStoreUrl: servers.EVENTSTORE_URL, mongoUrl: servers.MONGODB_URL } })
  t.like(configFrom({ EVENTSTORE_URL: 'esdb+discover://events.example.com', MONGODB_URL: ' mongodb://127.0.0.1 ' }), {
    right: { eventStoreUrl: 'esdb+discover://events.example.com', mongoUrl: 'mongodb://127.0.0.1' },
  })
  t.like(configFrom({ EVENTSTORE_URL: '', MONGODB_URL: ' ' }), {
    right: { eventStoreUrl: undefined, mongoUrl: undefined },
  })
})

test('a mail server is used as it stands, with the options that are known', (t) => {
  for (const SMTP_URL of [
    'smtp://mail.example.com',
    'smtps://ada%40example.com:word@mail.example.com:465',
    'smtp://[::1]:2525/?requireTLS=true&tls.rejectUnauthorized=false',
  ]) {
    t.like(configFrom({ SMTP_URL }), { right: { smtpUrl: SMTP_URL } })
  }
  t.like(configFrom({}), { right: { smtpUrl: undefined } })
})

test('the service that verifies consents is used as it stands, and nobody is asked where none is named', (t) => {
  const CONSENT_VERIFIER_URL = 'http://user:word@127.0.0.1:8090/verify?tenant=1'
  t.like(configFrom({ CONSENT_VERIFIER_URL }), { right: { consentVerifierUrl: CONSENT_VERIFIER_URL } })
  t.like(configFrom({}), { right: { consentVerifierUrl: undefined } })
})

const smsUrl = `twilio://AC${'0'.repeat(32)}:t0ken@api.twilio.com?from=%2B14155550100`

test('a provider of texts is used where the public URL is known, and no error tells its token', (t) => {
  t.like(configFrom({ SMS_URL: smsUrl, PUBLIC_URL: 'https://leads.example.com' }), {
    right: { sms: { accountSid: `AC${'0'.repeat(32)}`, authToken: 't0ken', sender: '+14155550100' } },
  })
  t.like(configFrom({}), { right: { sms: undefined } })
  t.deepEqual(
    configFrom({ SMS_URL: smsUrl }),
    E.left(['PUBLIC_URL must be given with SMS_URL: the provider reports to it, and signs it.']),
  )
  t.deepEqual(
    configFrom({ SMS_URL: smsUrl.replace('from=', 'sender='), PUBLIC_URL: 'https://leads.example.com' }),
    E.left(['SMS_URL must have no query parameters but from and tls.']),
  )
})

test('a process has the roles that are named, and all of them where none is', (t) => {
  const rolesFrom = (ROLES: string, urls: Partial<typeof servers> = servers): ReadonlyArray<string> => {
    const config = configFrom({ ...urls, ROLES })
    return E.isRight(config) ? [...config.right.roles].toSorted() : config.left
  }
  const all = ['api', 'delivery', 'projector']
  t.deepEqual(rolesFrom('api'), ['api'])
  t.deepEqual(rolesFrom(' delivery , projector,delivery '), ['delivery', 'projector'])
  t.deepEqual(rolesFrom(' '), all)
  t.deepEqual(rolesFrom('', {}), all)
  t.deepEqual(rolesFrom('delivery,api,projector', {}), all, 'who has all of them needs no others')
  const refused = ['ROLES must be left unset unless EVENTSTORE_URL and MONGODB_URL are both given.']
  const { EVENTSTORE_URL, MONGODB_URL } = servers
  for (const urls of [{}, { EVENTSTORE_URL }, { MONGODB_URL }]) t.deepEqual(rolesFrom('api', urls), refused)
})
