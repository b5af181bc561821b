import { isIP } from 'node:net'
import { join } from 'node:path'
import { hostOf } from '../../../domain/web-address.js'
import type { MailTransport } from '../../../projections/notices/mail-transport.js'
import type { Config } from '../config.js'

type OpenMail = MailTransport & { readonly close: () => void }
type MailConfig = Pick<Config, 'dataDir' | 'smtpUrl' | 'publicUrl'>

/**
 * Hands mail to the server that the settings name, else writes it to files in DATA_DIR, which the operator can read.
 * The mailer is loaded with the first mail: most processes never send one.
 */
export const outgoingMail = (config: MailConfig): OpenMail => {
  let opening: Promise<OpenMail> | undefined
  return {
    send: async (mail) => (await (opening ??= openMail(config))).send(mail),
    close: () => void opening?.then(({ close }) => close()),
  }
}

const openMail = async (config: MailConfig): Promise<OpenMail> => {
  const from = fromAddress(config)
  if (config.smtpUrl === undefined) {
    const { outboxMail } = await import('../../../adapters/mail/outbox.js')
    return outboxMail(join(config.dataDir, 'outbox'), from)
  }
  const { smtpMail } = await import('../../../adapters/mail/smtp.js')
  return smtpMail({ url: config.smtpUrl, from })
}

/** The user at the server where that is an e-mail address: a server seldom takes mail from anybody else. */
export const fromAddress = ({ smtpUrl, publicUrl }: Pick<Config, 'smtpUrl' | 'publicUrl'>): string => {
  const user = smtpUrl === undefined ? '' : decodeURIComponent(new URL(smtpUrl).username)
  if (/^[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$/.test(user)) return user
  const host = publicUrl === undefined ? 'localhost' : hostOf(new URL(publicUrl))
  // An address of the network is no domain that mail could come from.
  return `leadloop@${isIP(host) === 0 ? host : 'localhost'}`
}
