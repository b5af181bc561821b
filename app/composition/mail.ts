import { hostOf } from '../../domain/web-address.js'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { outboxMail } from '../../adapters/mail/outbox.js'
import { smtpMail } from '../../adapters/mail/smtp.js'
import type { MailSender } from '../../projections/notices/sender.js'
import type { Config } from './config.js'

/** Hands mail to the server that the settings name, else writes it to files in DATA_DIR, which the operator can read. */
export const outgoingMail = (
  config: Pick<Config, 'dataDir' | 'smtpUrl' | 'publicUrl'>,
): MailSender & { readonly close: () => void } => {
  const from = fromAddress(config)
  return config.smtpUrl === undefined
    ? outboxMail(join(config.dataDir, 'outbox'), from)
    : smtpMail({ url: config.smtpUrl, from })
}

/** The user at the server where that is an e-mail address: a server seldom takes mail from anybody else. */
export const fromAddress = ({ smtpUrl, publicUrl }: Pick<Config, 'smtpUrl' | 'publicUrl'>): string => {
  const user = smtpUrl === undefined ? '' : decodeURIComponent(new URL(smtpUrl).username)
  if (/^[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$/.test(user)) return user
  const host = publicUrl === undefined ? 'localhost' : hostOf(new URL(publicUrl))
  // An address of the network is no domain that mail could come from.
  return `leadloop@${isIP(host) === 0 ? host : 'localhost'}`
}
