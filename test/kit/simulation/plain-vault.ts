import { hash } from 'node:crypto'
import type { AccountSecret, ServiceSecret } from '../../../domain/derived-id.js'
import type { Vault } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'

/**
 * A vault without encryption: unlike a real one it seals a text to the same letters every time, so that histories
 * repeat.
 */
export const plainVault: Vault = {
  seal: (plain) => plain,
  open: (sealed) => E.right(sealed),
  sign: (sealed, text) => E.right(`v1,${hash('sha256', `${sealed} ${text}`, 'base64')}`),
  accountSecret: (sealed) => E.right(Buffer.from(sealed) as AccountSecret),
  serviceSecret: Buffer.from('service') as unknown as ServiceSecret,
}
