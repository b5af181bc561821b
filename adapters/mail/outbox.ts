import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import type { MailTransport } from '../../projections/notices/mail-transport.js'
import { messageOf } from './message.js'

/**
 * The `MailTransport` port where there is no mail server: each mail becomes a file, `<notice id>.eml`, which only its
 * owner may read. A repeat replaces it.
 */
export const outboxMail = (directory: string, from: string): MailTransport & { readonly close: () => void } => {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    send: async (mail) => {
      try {
        const { message } = await composer.sendMail(messageOf(mail, from))
        await mkdir(directory, { recursive: true, mode: 0o700 })
        const file = join(directory, `${mail.id}.eml`)
        const unfinished = `${file}.new`
        await writeFile(unfinished, message, { mode: 0o600, flush: true })
        await rename(unfinished, file)
        return 'sent'
      } catch {
        return { kind: 'failed', reason: 'the outbox could not be written' }
      }
    },
    close: () => undefined,
  }
}
