import { refined } from '../../domain/codec.js'

export const MessageSid = refined(
  'the SID of a message',
  (value): value is string => typeof value === 'string' && /^(SM|MM)[0-9a-f]{32}$/.test(value),
)
