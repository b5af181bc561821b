import { refined } from './codec.js'

/** As the provider names it: a number in E.164, or the SID of a Messaging Service. */
export const SenderName = refined(
  'a number such as +14155550123, or MG and 32 hex digits',
  (value): value is string => typeof value === 'string' && /^(\+[1-9]\d{6,14}|MG[0-9a-f]{32})$/.test(value),
)
