import { having } from '../../kit/network/http.js'
import { openAccount } from '../../kit/service/account.js'
import { callsOf, inWords, type Stage } from './stage.js'

/** Where no webhook may lead. None of these is a name that a name server is asked for. */
const forbidden = [
  'http://127.0.0.1/hook',
  'http://localhost/hook',
  'http://10.1.2.3/hook',
  'http://169.254.169.254/hook',
  'http://[::1]/hook',
  'http://2130706433/hook',
  'http://intranet/hook',
  'http://printer.local/hook',
] as const

/** A service that clients reach at a public URL, and whose webhooks may not lead to private addresses. */
export const playStrict = async ({ strict, recorder }: Stage): Promise<void> => {
  const account = await openAccount(strict, 'Strict Agency')
  const { manage } = callsOf(recorder, strict, account, 'strict')
  await manage('post URLs begin with the public URL', 'GET', '/marketing_sources')
  const asked = { title: 'Mail', playbook_id: account.playbookId }
  await manage('so does that of a new source', 'POST', '/marketing_sources', asked)
  await manage('and that of one that changes', 'PATCH', `/marketing_sources/${account.sourceId}`, {})
  for (const url of forbidden) await manage(`a webhook to ${inWords(url)}`, 'POST', '/webhooks', { url, token: 'x' })
  const allowed = { url: 'https://203.0.114.7/hook', token: 'x', events: ['sold'] }
  const { id } = having(await manage('a webhook to a public address', 'POST', '/webhooks', allowed), 'webhook')
  await manage('it moves to a private one', 'PATCH', `/webhooks/${id}`, { url: 'http://10.0.0.1/' })
  await manage('it goes', 'DELETE', `/webhooks/${id}`)
}
