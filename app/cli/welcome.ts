import type { Service } from '../composition/compose.js'
import { exampleLead } from '../composition/start/first-account.js'

/** What a start says to the person who started it; the keys in it are shown this once. */
export const welcome = (service: Service, dataDir: string): string => {
  const { address, siteUrl, newOperatorKey, firstAccount } = service
  const lines = [`Leadloop listens at ${address} and stores its data in ${dataDir}.`]
  if (newOperatorKey !== undefined) {
    lines.push(`Its operator key, stored in ${dataDir}/operator-key: ${newOperatorKey}`)
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
