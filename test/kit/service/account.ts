import { bearer, having, send, sendJson, type Answer, type Site, type Managed } from '../network/http.js'
import { lead, type Fields } from './leads.js'
import { operatorKey } from './settings.js'

/** The ids that the 200 of a submission gives. */
export type SubmittedIds = {
  readonly lead_id: string
  readonly contact_id: string
  readonly next_engagement_id: string
}

export const idsOf = (answer: Answer): SubmittedIds => ({
  lead_id: having(answer, 'lead_id'),
  contact_id: having(answer, 'contact_id'),
  next_engagement_id: having(answer, 'next_engagement_id'),
})

/** An account with one marketing source, and who may use it. */
export type Account = {
  readonly id: string
  readonly apiKey: string
  readonly playbookId: string
  readonly sourceId: string
  readonly postUrl: string
  /** A call of the REST API with the account's key; `path` follows `/api/v3`. */
  readonly rest: (path: string, body?: unknown) => Promise<Answer>
  /** A call of the management API; `path` follows `/manage/v1/accounts/{acc}`. */
  readonly manage: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
  readonly submit: (fields: Fields, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /** Submits a valid lead and gives its ids. */
  readonly submitted: (changed?: Fields) => Promise<SubmittedIds>
  readonly record: (conversionId: string, fields: Fields) => Promise<Answer>
  readonly find: (phone: string) => Promise<Answer>
  /** The ids of Quoted and Sold. */
  readonly standardConversions: () => Promise<{ readonly quoted: string; readonly sold: string }>
  readonly addSource: (fields?: Fields) => Promise<{ readonly id: string; readonly postUrl: string }>
  readonly addConversion: (title: string, value: number) => Promise<string>
  readonly addWebhook: (fields: Fields) => Promise<string>
  /** Issues another API key. */
  readonly issueKey: (fields?: Fields) => Promise<{ readonly id: string; readonly secret: string }>
  readonly report: (engagementId: string, type: string, label: string, more?: Fields) => Promise<Answer>
}

/** A call of the management API with the operator's key; `path` follows `/manage/v1`. */
export const manage = (
  { url }: Site,
  method: string,
  path: string,
  body?: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  const headers = { ...bearer(operatorKey), ...more }
  return body === undefined
    ? send(`${url}/manage/v1${path}`, { method, headers })
    : sendJson(`${url}/manage/v1${path}`, method, body, headers)
}

/** Opens an account of a test's own. Its playbook sends nothing: what it sent would depend on the hour of the day. */
export const openAccount = async (site: Site, title = 'Example Agency'): Promise<Account> => {
  const opened = await manage(site, 'POST', '/accounts', { title })
  const id = having(opened, 'account').id
  const playbookId = having(opened, 'playbook').id
  const inAccount: Account['manage'] = (method, path, body, headers) =>
    manage(site, method, `/accounts/${id}${path}`, body, headers)
  await inAccount('PATCH', `/playbooks/${playbookId}`, { steps: [], reply_rules: [] })
  const addSource: Account['addSource'] = async (fields = {}) => {
    const asked = { title: 'Search ads', playbook_id: playbookId, ...fields }
    const source = having(await inAccount('POST', '/marketing_sources', asked), 'marketing_source')
    return { id: source.id, postUrl: source.post_url }
  }
  const apiKey = having(opened, 'api_key') as string
  const rest: Account['rest'] = (path, body) =>
    body === undefined
      ? send(`${site.url}/api/v3${path}`, { headers: bearer(apiKey) })
      : sendJson(`${site.url}/api/v3${path}`, 'POST', body, bearer(apiKey))
  const { id: sourceId, postUrl } = await addSource()
  const submit: Account['submit'] = (fields, headers) => sendJson(postUrl, 'POST', fields, headers)

  return {
    id,
    apiKey,
    playbookId,
    sourceId,
    postUrl,
    rest,
    manage: inAccount,
    submit,
    submitted: async (changed) => idsOf(await submit(lead(changed))),
    record: (conversionId, fields) => rest(`/conversions/${conversionId}/events`, { conversion_contact: fields }),
    find: (phone) => rest(`/contacts/find?phone=${encodeURIComponent(phone)}`),
    standardConversions: async () => {
      const conversions = having(await rest('/conversions'), 'conversions')
      const idOf = (wanted: string): string => conversions.find(({ title: name }) => name === wanted)?.id ?? 'none'
      return { quoted: idOf('Quoted'), sold: idOf('Sold') }
    },
    addSource,
    addConversion: async (name, value) =>
      having(await inAccount('POST', '/conversions', { title: name, value }), 'conversion').id,
    addWebhook: async (fields) => having(await inAccount('POST', '/webhooks', fields), 'webhook').id,
    issueKey: async (fields = {}) => {
      const issued = await inAccount('POST', '/api_keys', fields)
      return { id: (having(issued, 'api_key') as Managed).id, secret: having(issued, 'secret') }
    },
    report: (engagementId, type, label, more = {}) =>
      inAccount('POST', `/engagements/${engagementId}/activities`, { type, label, ...more }),
  }
}
