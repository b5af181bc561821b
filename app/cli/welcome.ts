import type { Service } from '../composition/compose.js'
import type { Config } from '../composition/config.js'
import { exampleLead } from '../composition/start/first-account.js'

type Places = Pick<Config, 'dataDir' | 'eventStoreUrl' | 'mongoUrl'>

/** What a start says to the person who started it; the keys in it are shown this once. */
export const welcome = (service: Omit<Service, 'stop'>, settings: Places & Pick<Config, 'roles'>): string => {
  const { address, siteUrl, newOperatorKey, firstAccount } = service
  const lines = [`Leadloop listens at ${address} and stores ${stored(settings)}.`]
  if (newOperatorKey !== undefined) {
    lines.push(`Its operator key, stored in ${settings.dataDir}/operator-key: ${newOperatorKey}`)
  }
  if (!settings.roles.has('api')) {
    lines.push('It answers /health and /metrics, and takes no requests: its ROLES lack api.')
    return lines.join('\n')
  }
  if (firstAccount === undefined) {
    lines.push('Three lines of curl that close the loop, with the keys that your first start showed: see the README.')
    return lines.join('\n')
  }
  const { postUrl, apiKey, soldId, contactId } = firstAccount
  return [
    ...lines,
    '',
    'It opened a first account. Its API key, shown this once:',
    `  ${apiKey}`,
    '',
    'Three lines of curl close the loop. A vendor posts a lead:',
    '',
    `curl -s '${postUrl}' -H 'Content-Type: application/json' -d '${JSON.stringify(exampleLead)}'`,
    '',
    'Your system finds the contact by phone:',
    '',
    `curl -s '${siteUrl}/api/v3/contacts/find?phone=${encodeURIComponent(exampleLead.phone)}' -H 'Authorization: Bearer ${apiKey}'`,
    '',
    'and reports the sale, which ends the conversation:',
    '',
    `curl -s '${siteUrl}/api/v3/conversions/${soldId}/events' -H 'Authorization: Bearer ${apiKey}' ` +
      `-H 'Content-Type: application/json' -d '{"conversion_contact":{"contact_id":"${contactId}"}}'`,
    '',
  ].join('\n')
}

const stored = ({ dataDir, eventStoreUrl, mongoUrl }: Places): string => {
  if (eventStoreUrl === undefined && mongoUrl === undefined) return `its data in ${dataDir}`
  const log = eventStoreUrl === undefined ? dataDir : 'EventStoreDB'
  const documents = mongoUrl === undefined ? dataDir : 'MongoDB'
  return `its events in ${log} and its read models in ${documents}`
}
