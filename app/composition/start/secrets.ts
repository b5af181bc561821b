import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorCodeOf } from '../../../adapters/node/error-code.js'
import { storedSecret } from '../../../adapters/node/key-file.js'
import { aesVault } from '../../../adapters/node/vault.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { Vault } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isOperatorKey, operatorKeyForm, secretKeyFrom, type Config } from '../config.js'

export type Secrets = {
  readonly vault: Vault
  readonly operatorKey: string
  /** Set when this start made the operator key: it is shown now and never again. */
  readonly newOperatorKey: string | undefined
}

type Keys = Pick<Config, 'dataDir' | 'secretKey' | 'operatorKey'>

export const secretKeyFile = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'secret-key')
export const operatorKeyFile = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'operator-key')

/**
 * The keys that are given, else those that are stored in DATA_DIR. Left: one sentence, when the key is not the one that
 * the log was begun with, or a file can't be used; `first` is the first event of the log.
 */
export const secretsFor = (config: Keys, first: RecordedEvent | undefined): Either<string, Secrets> => {
  const secretKey = secretKeyFor(config, first)
  if (E.isLeft(secretKey)) return secretKey
  const vault = aesVault(secretKey.right)
  // The oldest account's secret tells whether the key is the right one.
  if (first?.type === 'AccountOpened' && E.isLeft(vault.open(first.data.sealed_secret))) {
    return E.left('SECRET_KEY: this key does not open what is stored; give the one that the store was begun with.')
  }
  const operator = operatorKeyFor(config)
  return E.isLeft(operator) ? operator : E.right({ vault, ...operator.right })
}

const secretKeyFor = (config: Keys, first: RecordedEvent | undefined): Either<string, Buffer> => {
  if (config.secretKey !== undefined) return E.right(config.secretKey)
  const file = secretKeyFile(config)
  if (first !== undefined && !existsSync(file)) {
    return E.left('SECRET_KEY: there is data but no secret-key; put the file beside it that the store was begun with.')
  }
  const stored = storedIn(file, 'SECRET_KEY')
  if (E.isLeft(stored)) return stored
  const secretKey = secretKeyFrom(stored.right.secret)
  return secretKey === undefined
    ? E.left('SECRET_KEY: the file secret-key must hold 32 bytes in base64 and nothing else.')
    : E.right(secretKey)
}

const operatorKeyFor = (config: Keys): Either<string, Omit<Secrets, 'vault'>> => {
  const { operatorKey } = config
  if (operatorKey !== undefined) return E.right({ operatorKey, newOperatorKey: undefined })
  const stored = storedIn(operatorKeyFile(config), 'OPERATOR_KEY')
  if (E.isLeft(stored)) return stored
  const { secret, isNew } = stored.right
  return isOperatorKey(secret)
    ? E.right({ operatorKey: secret, newOperatorKey: isNew ? secret : undefined })
    : E.left(`OPERATOR_KEY: the file operator-key must hold a key ${operatorKeyForm}.`)
}

/** Of the system only the code is told, as it is where the database can't be used. */
const storedIn = (file: string, setting: string): Either<string, ReturnType<typeof storedSecret>> =>
  E.tryCatch(
    () => storedSecret(file),
    (error) => `${setting}: the file ${basename(file)} can't be read or made (${errorCodeOf(error) ?? 'unknown'}).`,
  )
