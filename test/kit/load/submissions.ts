import { formLead } from '../service/leads.js'
import { oneOf, type Random } from './random.js'

/** Fields as a form carries them. */
export type FormFields = Readonly<Record<string, string>>

const areas = ['212', '312', '415', '617', '713']

export const phoneNumber = (nth: number): string =>
  `+1${areas[nth % areas.length] ?? '415'}${2_200_000 + Math.floor(nth / areas.length)}`

/** One number in one of the spellings that vendors use. */
export const spelled = (random: Random, phone: string): string => {
  const [area, exchange, line] = [phone.slice(2, 5), phone.slice(5, 8), phone.slice(8)]
  const spellings = [
    phone,
    `(${area}) ${exchange}-${line}`,
    `${area}.${exchange}.${line}`,
    `1${area}${exchange}${line}`,
  ]
  return oneOf(random, spellings) ?? phone
}

/** Every field of a standard qualification playbook, and the number under which this submission was sent. */
export const leadFields = (nth: number, phone: string): FormFields =>
  formLead({
    last_name: `Example ${nth}`,
    email: `ada.${nth}@example.com`,
    phone,
    tcpa_opt_in_token: `consent-${nth}`,
    tcpa_opt_in_url: `https://consent.example/${nth}`,
    sent_as: String(nth),
  })
