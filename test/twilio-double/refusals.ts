/** What a request is refused with, in Twilio's words of today: nobody may repeat them. */
export type Refusal = { readonly status: number; readonly code: number }

type Senders = {
  /** Numbers and Messaging Services of the account. */
  readonly own: ReadonlySet<string>
  readonly optedOut: ReadonlySet<string>
}

const longestBody = 1_600
const longestValidity = 14_400

/** Why the real one would refuse to send the message of a form; undefined: it would take it. */
export const refusalOf = (form: URLSearchParams, { own, optedOut }: Senders): Refusal | undefined => {
  const [to, body] = [form.get('To') ?? '', form.get('Body') ?? '']
  const sender = form.get('MessagingServiceSid') ?? form.get('From') ?? ''
  const validity = form.get('ValidityPeriod')
  const refused = (code: number): Refusal => ({ status: 400, code })
  if (to === '') return refused(21604)
  if (sender === '') return refused(21603)
  if (body === '') return refused(21602)
  if (!/^\+[1-9]\d{6,14}$/.test(to)) return refused(21211)
  if (!own.has(sender) || sender.startsWith('MG') !== form.has('MessagingServiceSid')) return refused(21606)
  if (optedOut.has(to)) return refused(21610)
  if (body.length > longestBody) return refused(21617)
  if (validity !== null && !(/^\d+$/.test(validity) && Number(validity) >= 1 && Number(validity) <= longestValidity)) {
    return refused(21624)
  }
  return undefined
}
