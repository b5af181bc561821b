import { refined } from './codec.js'

/** Whether it takes mail only a mail server can tell. */
export const EmailAddress = refined(
  'an e-mail address',
  (value): value is string => typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value),
)
