import { millisecondsOf } from '../../domain/instant.js'
import type { Mail } from '../../projections/notices/mail-transport.js'

/** The message for nodemailer: the same mail and sender give the same bytes. */
export const messageOf = ({ id, at, to, subject, text }: Mail, from: string) => ({
  from: { name: 'Leadloop', address: from },
  // As an object, because a text would be parsed as a list of addresses.
  to: { name: '', address: to },
  messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
  date: new Date(millisecondsOf(at)),
  subject,
  text,
  // Asks other robots not to answer (RFC 3834).
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
})
