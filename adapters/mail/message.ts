import { millisecondsOf } from '../../domain/instant.js'
import type { Mail } from '../../projections/notices/sender.js'

/** What nodemailer makes the message of: the same bytes for the same mail and sender. */
export const messageOf = ({ id, at, to, subject, text }: Mail, from: string) => ({
  from: { name: 'Leadloop', address: from },
  // As an object: a text would be read as a list of addresses.
  to: { name: '', address: to },
  messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
  date: new Date(millisecondsOf(at)),
  subject,
  text,
  // No robot is to answer (RFC 3834).
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
})
