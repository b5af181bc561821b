import { LRUCache } from 'lru-cache'
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { AccountSecret, ServiceSecret } from '../../domain/derived-id.js'
import type { Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Opened texts, in characters: a request needs the secret of its account, a delivery two of its webhook. */
const openedLength = 1_000_000

/** AES-256-GCM under a key of 32 bytes; sealed texts are base64url of nonce, tag and cipher text. */
export const aesVault = (key: Buffer): Vault => {
  const seal = (plain: string): string => {
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(algorithm, key, nonce)
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  const opened = new LRUCache<string, string>({
    maxSize: openedLength,
    sizeCalculation: (plain, sealed) => plain.length + sealed.length,
  })
  const open = (sealed: string): Either<{ readonly kind: 'unsealable' }, string> => {
    const known = opened.get(sealed)
    if (known !== undefined) return E.right(known)
    const bytes = Buffer.from(sealed, 'base64url')
    try {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength })
      decipher.setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
      const bare = decipher.update(bytes.subarray(nonceLength + tagLength))
      const plain = Buffer.concat([bare, decipher.final()]).toString('utf8')
      opened.set(sealed, plain)
      return E.right(plain)
    } catch {
      return E.left({ kind: 'unsealable' })
    }
  }

  const sign: Vault['sign'] = (sealed, text) => {
    const secret = open(sealed)
    if (E.isLeft(secret)) return secret
    const bytes = Buffer.from(secret.right, 'base64')
    return E.right(`v1,${createHmac('sha256', bytes).update(text).digest('base64')}`)
  }

  const accountSecret: Vault['accountSecret'] = (sealed) => {
    const secret = open(sealed)
    return E.isLeft(secret) ? secret : E.right(Buffer.from(secret.right, 'base64url') as AccountSecret)
  }
  const serviceSecret = createHmac('sha256', key).update('service secret').digest() as unknown as ServiceSecret
  return { seal, open, sign, accountSecret, serviceSecret }
}
