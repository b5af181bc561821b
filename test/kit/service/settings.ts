import { roles, type Config } from '../../../app/composition/config.js'
import type { Environment } from '../parts/program.js'

export const operatorKey = 'the-operator-key-of-the-http-tests'

/** For processes that use one log one after the other, each with documents of its own. */
export const secretKey = Buffer.alloc(32, 7)

/** The settings of a service in this process. */
export const configOf = (dataDir: string, changed: Partial<Config> = {}): Config => ({
  host: '127.0.0.1',
  port: 0,
  publicUrl: undefined,
  dataDir,
  operatorKey,
  secretKey: undefined,
  allowPrivateWebhooks: true,
  logLevel: 'silent',
  clockRate: 1,
  deliveryRetentionDays: undefined,
  messageRetentionDays: undefined,
  eventStoreUrl: undefined,
  mongoUrl: undefined,
  smtpUrl: undefined,
  consentVerifierUrl: undefined,
  sms: undefined,
  roles: new Set(roles),
  ...changed,
})

/** The same settings for a service in a process of its own. */
export const environmentOf = (dataDir: string, changed: Environment = {}): Environment => ({
  HOST: '127.0.0.1',
  PORT: '0',
  DATA_DIR: dataDir,
  OPERATOR_KEY: operatorKey,
  ALLOW_PRIVATE_WEBHOOKS: 'true',
  LOG_LEVEL: 'error',
  ...changed,
})
