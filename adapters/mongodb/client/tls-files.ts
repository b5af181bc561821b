import type { MongoClient } from 'mongodb'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'

type Options = MongoClient['options']

/** An option of the URL that names a file, and what its contents are to TLS. */
type TlsFile = {
  readonly option: 'tlsCAFile' | 'tlsCRLFile' | 'tlsCertificateKeyFile'
  readonly forTls: (contents: Buffer, options: Options) => SecureContextOptions
}

const files: ReadonlyArray<TlsFile> = [
  { option: 'tlsCAFile', forTls: (ca) => ({ ca }) },
  { option: 'tlsCRLFile', forTls: (crl) => ({ crl }) },
  {
    option: 'tlsCertificateKeyFile',
    forTls: (pem, { passphrase }) => ({ cert: pem, key: pem, passphrase }),
  },
]

const isUsable = (options: Options, { option, forTls }: TlsFile): boolean => {
  const path: unknown = options[option]
  if (!options.tls || typeof path !== 'string') return true
  try {
    createSecureContext(forTls(readFileSync(path), options))
    return true
  } catch {
    return false
  }
}

/**
 * Which options name files that can't be used. The driver finds that out while it connects, and no waiting mends it.
 */
export const tlsFiles = files.map((file) => ({
  option: file.option,
  must: 'the name of a PEM file that can be read',
  isKept: (options: Options): boolean => isUsable(options, file),
}))
