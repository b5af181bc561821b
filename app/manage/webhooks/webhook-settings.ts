import { ActivityLabel } from '../../../domain/activity.js'
import { objectWith, optional, refined, t } from '../../../domain/codec.js'
import { PlaybookId, type AccountId } from '../../../domain/ids.js'
import type { Vault } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { urlFromText } from '../../../domain/web-address.js'
import { PayloadFormat, type WebhookSettings } from '../../../domain/webhook.js'
import type { Problem } from '../../http/problem.js'
import { ownPlaybook } from '../own-playbook.js'
import type { ManagePorts } from '../ports.js'

/** It stands in a header: no control characters, nothing beyond ASCII. */
const Token = refined(
  'a text of 1 to 4,096 printable ASCII characters without spaces',
  (value): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,4096}$/.test(value),
)
const Url = refined(
  'an http or https URL of at most 2,048 characters',
  (value): value is string => typeof value === 'string' && value.length <= 2048 && urlFromText(value) !== undefined,
)
const Events = t.readonlyArray(ActivityLabel, 'a list of labels')

export const AddRequest = objectWith({
  url: Url,
  token: Token,
  events: optional(Events),
  format: optional(PayloadFormat),
  playbook_id: optional(PlaybookId),
})
export type AddRequest = t.TypeOf<typeof AddRequest>

/** The playbook of a webhook never changes. */
export const ChangeRequest = objectWith({
  url: optional(Url),
  token: optional(Token),
  events: optional(Events),
  format: optional(PayloadFormat),
})
export type ChangeRequest = t.TypeOf<typeof ChangeRequest>

export const newSettings = (
  { url, token, events, format, playbook_id }: AddRequest,
  vault: Pick<Vault, 'seal'>,
): WebhookSettings => ({
  url,
  sealed_token: vault.seal(token),
  events: [...new Set(events ?? [])],
  format: format ?? 'agent',
  playbook_id: playbook_id ?? null,
})

export const changedSettings = (
  { url, token, events, format }: ChangeRequest,
  vault: Pick<Vault, 'seal'>,
): Partial<WebhookSettings> => ({
  ...(url === undefined ? {} : { url }),
  ...(token === undefined ? {} : { sealed_token: vault.seal(token) }),
  ...(events === undefined ? {} : { events: [...new Set(events)] }),
  ...(format === undefined ? {} : { format }),
})

/** The URL must not lead to a forbidden address, and the playbook must be one of the account. */
export const settingsProblem = async (
  { webhookUrlProblem, commandHandler }: ManagePorts,
  accountId: AccountId,
  { url, playbook_id }: { readonly url: string | undefined; readonly playbook_id?: PlaybookId | undefined },
): Promise<Problem | undefined> => {
  const problem = url === undefined ? undefined : await webhookUrlProblem(url)
  if (problem !== undefined) return { kind: 'invalid', messages: [`url ${problem}`] }
  if (playbook_id === undefined) return undefined
  const used = await ownPlaybook(commandHandler, accountId, playbook_id)()
  return E.isLeft(used) ? used.left : undefined
}
