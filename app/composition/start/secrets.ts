import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { storedSecret } from '../../../adapters/node/key-file.js'
import { aesVault } from '../../../adapters/node/vault.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { Vault } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isOperatorKey, operatorKeyForm, type Config } from '../config.js'

export type Secrets = {
  readonly vault: Vault
  readonly operatorKey: string
  /** Set when this start made the operator key: it is shown now and never again. */
  readonly newOperatorKey: string | undefined
}

type Keys = Pick<Config, 'dataDir' | 'secretKey' | 'operatorKey'>

export const secretKeyFile = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'secret-key')

/**
 * The keys that are given, else those that are stored in DATA_DIR. Left: one sentence, when the key is not the one that
 * the log was begun with; `first` is the first event of the log.
 */
export const secretsFor = (config: Keys, first: RecordedEvent | undefined): Either<string, Secrets> => {
  const file = secretKeyFile(config)
  if (config.secretKey === undefined && first !== undefined && !existsSync(file)) {
    return E.left('SECRET_KEY: there is data but no secret-key; put the file beside it that the store was begun with.')
  }
  const secretKey = config.secretKey ?? Buffer.from(storedSecret(file).secret, 'base64url')
  if (secretKey.length !== 32) return E.left('SECRET_KEY: the file secret-key must hold 32 bytes in base64.')
  const vault = aesVault(secretKey)
  // The oldest account's secret tells whether the key is the right one.
  if (first?.type === 'AccountOpened' && E.isLeft(vault.open(first.data.sealed_secret))) {
    return E.left('SECRET_KEY: this key does not open what is stored; give the one that the store was begun with.')
  }
  if (config.operatorKey !== undefined) {
    return E.right({ vault, operatorKey: config.operatorKey, newOperatorKey: undefined })
  }
  const { secret, isNew } = storedSecret(join(config.dataDir, 'operator-key'))
  if (!isOperatorKey(secret)) return E.left(`OPERATOR_KEY: the file operator-key must hold a key ${operatorKeyForm}.`)
  return E.right({ vault, operatorKey: secret, newOperatorKey: isNew ? secret : undefined })
}
