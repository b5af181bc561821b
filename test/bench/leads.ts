import { exampleLead } from '../../app/composition/start/first-account.js'
import { requestText } from './http-load.js'

/** The fields of the lead with this serial number: each has a phone number of its own. */
export const leadFields = (serial: number) => ({
  ...exampleLead,
  first_name: `Ada${serial}`,
  email: `ada${serial}@example.com`,
  phone: phoneOf(serial),
  current_residence_address: `${serial} Main Street`,
  tcpa_opt_in_token: `consent-${serial}`,
  tcpa_opt_in_url: `https://consent.example/${serial}`,
})

/** Numbers of the North American plan: area codes and exchanges begin with 2 to 9. */
export const phoneOf = (serial: number): string => {
  const exchanges = Math.floor(serial / 10_000)
  const area = 200 + Math.floor(exchanges / 800)
  const exchange = 200 + (exchanges % 800)
  return `(${area}) ${exchange}-${String(serial % 10_000).padStart(4, '0')}`
}

export const leadRequest =
  (path: string) =>
  (serial: number): string =>
    requestText('POST', path, { 'content-type': 'application/json' }, JSON.stringify(leadFields(serial)))

export const findRequest =
  (apiKey: string, contacts: number) =>
  (serial: number): string => {
    const phone = encodeURIComponent(phoneOf((serial * 7919) % contacts))
    return requestText('GET', `/api/v3/contacts/find?phone=${phone}`, { authorization: `Bearer ${apiKey}` })
  }
