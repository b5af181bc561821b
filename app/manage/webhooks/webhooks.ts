import { newAggregate } from '../../../domain/aggregate.js'
import { stateOf } from '../../commands/states/current-states.js'
import { ActivityLabel } from '../../../domain/activity.js'
import { decode, optional, refined, t } from '../../../domain/codec.js'
import { PlaybookId, WebhookId, type AccountId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { playbook } from '../../../domain/playbook.js'
import type { CommandHandler } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import {
  PayloadFormat,
  webhook,
  type NewSigningSecret,
  type WebhookSettings,
  type WebhookState,
} from '../../../domain/webhook.js'
import { samplePayloadOf } from '../../../projections/delivery/payload.js'
import { unsealable } from '../../../projections/delivery/sender.js'
import { signedRequest } from '../../../projections/delivery/signed-request.js'
import { webhookList, type WebhookDocument } from '../../../projections/read-models/webhook-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
import { ownWebhook, webhookNotFound } from './own-webhook.js'
import type { ManagePorts } from '../ports.js'

/** It stands in a header: no control characters, nothing beyond ASCII. */
const Token = refined(
  'a text of 1 to 4,096 printable ASCII characters without spaces',
  (value): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,4096}$/.test(value),
)
const Url = refined(
  'an http or https URL of at most 2,048 characters',
  (value): value is string => typeof value === 'string' && value.length <= 2048 && URL.canParse(value),
)
const Events = t.readonlyArray(ActivityLabel, 'a list of labels')

const AddRequest = t.type({
  url: Url,
  token: Token,
  events: optional(Events),
  format: optional(PayloadFormat),
  playbook_id: optional(PlaybookId),
})
const ChangeRequest = t.type({
  url: optional(Url),
  token: optional(Token),
  events: optional(Events),
  format: optional(PayloadFormat),
})

const TurnOnRequest = t.type({ catch_up: t.boolean })

/** Webhooks (contract 6.1); the token is never shown again, nor is the signing secret. */
export const webhookEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks',
    handle: async (request, { actor }) => {
      const { commandHandler, commands, vault, ids } = ports
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(AddRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId } = found.right
      const { url, token, events, format, playbook_id } = body.right
      const problem = (await urlProblem(ports, url)) ?? (await playbookProblem(commandHandler, accountId, playbook_id))
      if (problem !== undefined) return E.left(problem)
      const webhookId: WebhookId = `whk_${ids.ulid()}`
      const settings: WebhookSettings = {
        url,
        sealed_token: vault.seal(token),
        events: [...new Set(events ?? [])],
        format: format ?? 'agent',
        playbook_id: playbook_id ?? null,
      }
      const { shown: signing_secret, signing } = newSigningSecret(ports)
      const command = { type: 'AddWebhook', webhookId, accountId, settings, signing } as const
      const added = await commands.execute(webhook, webhookId, command, actor, newAggregate(webhook))
      if (E.isLeft(added)) return added
      return E.right({ status: 201, body: { webhook: { ...shownState(added.right.state), signing_secret } } })
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/signing_secret',
    handle: async (request, { actor }) => {
      const found = await accountOf(ports.commandHandler, request)
      if (E.isLeft(found)) return found
      const webhookId = request.params['webhook_id']
      if (!WebhookId.is(webhookId)) return E.left(webhookNotFound)
      const { shown: signing_secret, signing } = newSigningSecret(ports)
      const command = { type: 'IssueSigningSecret', accountId: found.right.accountId, signing } as const
      const issued = await ports.commands.execute(webhook, webhookId, command, actor)
      if (E.isLeft(issued)) return issued
      const previous_until = signing.previousUntil
      return E.right({ status: 201, body: { webhook: { id: webhookId, signing_secret, previous_until } } })
    },
  },
  {
    method: 'GET',
    path: '/accounts/:account_id/webhooks',
    handle: async (request) => {
      const found = await accountOf(ports.commandHandler, request)
      if (E.isLeft(found)) return found
      const list = await ports.queries.list(webhookList, 'by_account', [found.right.accountId])
      return E.isLeft(list) ? list : E.right({ status: 200, body: { webhooks: list.right.map(shown) } })
    },
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id/webhooks/:webhook_id',
    handle: async (request, { actor }) => {
      const { commandHandler, commands, vault } = ports
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const webhookId = request.params['webhook_id']
      if (!WebhookId.is(webhookId)) return E.left(webhookNotFound)
      const body = decode(ChangeRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { url, token, events, format } = body.right
      const problem = url === undefined ? undefined : await urlProblem(ports, url)
      if (problem !== undefined) return E.left(problem)
      const settings: Partial<WebhookSettings> = {
        ...(url === undefined ? {} : { url }),
        ...(token === undefined ? {} : { sealed_token: vault.seal(token) }),
        ...(events === undefined ? {} : { events: [...new Set(events)] }),
        ...(format === undefined ? {} : { format }),
      }
      const command = { type: 'ChangeWebhook', accountId: found.right.accountId, settings } as const
      const changed = await commands.execute(webhook, webhookId, command, actor)
      return E.isLeft(changed) ? changed : E.right({ status: 200, body: { webhook: shownState(changed.right.state) } })
    },
  },
  {
    method: 'DELETE',
    path: '/accounts/:account_id/webhooks/:webhook_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(ports.commandHandler, request)
      if (E.isLeft(found)) return found
      const webhookId = request.params['webhook_id']
      if (!WebhookId.is(webhookId)) return E.left(webhookNotFound)
      const command = { type: 'RemoveWebhook', accountId: found.right.accountId } as const
      const removed = await ports.commands.execute(webhook, webhookId, command, actor)
      return E.isLeft(removed) ? removed : E.right({ status: 200, body: { webhook: { id: webhookId } } })
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/test',
    handle: async (request) => {
      const owned = await ownWebhook(ports.commandHandler, request)
      if (E.isLeft(owned)) return owned
      const receiver = owned.right
      const retryAfter = ports.rateLimit.exceeded(`test/${receiver.webhookId}`, testsPerMinute)
      if (retryAfter !== undefined) return E.left({ kind: 'too-many-requests', retryAfter })
      const { events, format } = receiver.settings
      const body = samplePayloadOf(format, events[0] ?? 'started')
      const sample = signedRequest(ports, receiver, `test_${ports.ids.ulid()}`, body)
      const { delivered, status, reason } = E.isLeft(sample) ? unsealable : await ports.sender.send(sample.right)
      return E.right({ status: 200, body: { delivered, status, error: delivered ? null : reason } })
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/turn_on',
    handle: async (request, { actor }) => {
      const owned = await ownWebhook(ports.commandHandler, request)
      if (E.isLeft(owned)) return owned
      const body = decode(TurnOnRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId, webhookId } = owned.right
      const command = { type: 'TurnOnWebhook', accountId, catchUp: body.right.catch_up, by: actor } as const
      const turned = await ports.commands.execute(webhook, webhookId, command, actor)
      return E.isLeft(turned) ? turned : E.right({ status: 200, body: { webhook: shownState(turned.right.state) } })
    },
  },
]

/** A test goes out at once and to whatever URL is saved: nobody may use it as a hammer. */
const testsPerMinute = 10

/** Milliseconds that the replaced secret goes on signing beside the new one: time to tell the receiver. */
const overlap = 24 * 60 * 60 * 1000

/** Shown once, in the form of Standard Webhooks; kept sealed. */
const newSigningSecret = ({
  ids,
  vault,
  clock,
}: ManagePorts): { readonly shown: string; readonly signing: NewSigningSecret } => {
  const secret = Buffer.from(ids.secret(), 'base64url').toString('base64')
  return {
    shown: `whsec_${secret}`,
    signing: { sealed: vault.seal(secret), previousUntil: later(clock.now(), overlap) },
  }
}

const urlProblem = async ({ webhookUrlProblem }: ManagePorts, url: string): Promise<Problem | undefined> => {
  const problem = await webhookUrlProblem(url)
  return problem === undefined ? undefined : { kind: 'invalid', messages: [`url ${problem}`] }
}

const playbookProblem = async (
  commandHandler: CommandHandler,
  accountId: AccountId,
  playbookId: PlaybookId | undefined,
): Promise<Problem | undefined> => {
  if (playbookId === undefined) return undefined
  const found = await stateOf(commandHandler, playbook, playbookId)
  if (E.isLeft(found)) return found.left
  const isOwn = found.right.kind === 'created' && found.right.accountId === accountId
  return isOwn ? undefined : { kind: 'playbook-not-found' }
}

const shownState = (state: WebhookState) => {
  if (state.kind === 'unknown' || state.kind === 'removed') return {}
  const { webhookId: id, settings, kind, version } = state
  const { url, events, format, playbook_id } = settings
  return { id, url, events, format, playbook_id, state: kind, version }
}

const shown = ({ account_id: _account, ...document }: WebhookDocument) => document
