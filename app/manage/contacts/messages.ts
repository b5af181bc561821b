import { t } from '../../../domain/codec.js'
import { contact, type ContactState } from '../../../domain/contact.js'
import { engagement, type EngagementState } from '../../../domain/engagement.js'
import { ContactId, type EngagementId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { message, type MessageEvent } from '../../../domain/message.js'
import { MessageText } from '../../../domain/message-template.js'
import { playbook, type PlaybookSettings } from '../../../domain/playbook.js'
import { E, flow, TE, type Either } from '../../../domain/prelude.js'
import { meaningOf, type ReplyMeaning } from '../../../domain/reply-meaning.js'
import { playbookVersions, type PlaybookVersions } from '../../../projections/follow-up/playbook-versions.js'
import { messages, type MessageDocument } from '../../../projections/read-models/messages.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bindOr, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount, type OpenAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { messageIdFor } from './message-id.js'

const ReceivedMessage = t.type({ text: MessageText })

const notFound: Problem = { kind: 'contact-not-found' }

const day = 24 * 60 * 60_000

type Received = Extract<MessageEvent, { readonly type: 'MessageReceived' }>['data']

/** What was written to a contact and by it. A `POST` stands for what it writes: no provider is between. */
export const messageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => {
  const playbookAt = playbookVersions(ports.store)
  return [
    {
      method: 'GET',
      path: '/accounts/:account_id/contacts/:contact_id/messages',
      handle: flow(
        withAccount(ports),
        pathId('contact_id', ContactId, notFound),
        bindOr(
          'contact',
          ({ account, contact_id }) => ports.queries.contactById(account.accountId, contact_id),
          notFound,
        ),
        withPage(ports.queries, messages, ({ contact_id }) => ({
          index: 'by_contact',
          equals: contact_id,
          descending: false,
        })),
        answer(200, ({ page }) => ({ messages: page.documents.map(shown), next_cursor: page.next_cursor })),
      ),
    },
    {
      method: 'POST',
      path: '/accounts/:account_id/contacts/:contact_id/messages',
      handle: flow(
        withAccount(ports),
        pathId('contact_id', ContactId, notFound),
        withBody(ReceivedMessage),
        TE.bindW(
          'facts',
          ({ request, account, contact_id, body }) =>
            () =>
              receivedFrom(ports, playbookAt, { request, account, contactId: contact_id, text: body.text }),
        ),
        execute(({ facts, caller }) => {
          const command = { type: 'ReceiveMessage', facts } as const
          return ports.clientCommands.execute(message, facts.message_id, command, caller.actor)
        }),
        answer(
          ({ result }) => (result.events.length > 0 ? 201 : 200),
          ({ facts: { message_id: id, contact_id, engagement_id: next_engagement_id, meaning } }) => ({
            message: { id, contact_id, next_engagement_id, meaning },
          }),
        ),
      ),
    },
  ]
}

type Arrived = {
  readonly request: Request
  readonly account: OpenAccount
  readonly contactId: ContactId
  readonly text: string
}

/** What a text means to the engagement whose message it answers: the one that wrote to the contact last, else the newest. */
const receivedFrom = async (
  ports: ManagePorts,
  playbookAt: PlaybookVersions,
  { request, account: { accountId, sealedSecret }, contactId, text }: Arrived,
): Promise<Either<Problem, Received>> => {
  const loaded = await loadState(ports.commandHandler, contact, contactId)
  if (E.isLeft(loaded)) return loaded
  const person = loaded.right
  if (person.kind !== 'known' || person.accountId !== accountId) return E.left(notFound)
  const messageId = messageIdFor(ports, request, sealedSecret, contactId)
  if (E.isLeft(messageId)) return messageId
  const answered = await answeredBy(ports, contactId, person)
  if (E.isLeft(answered)) return answered
  const settings = await settingsOf(ports, playbookAt, answered.right)
  if (E.isLeft(settings)) return settings
  const now = ports.clock.now()
  const meaning = meaningOf(text, settings.right, person.optedOut)
  const answer = answerTo[meaning]
  return E.right({
    message_id: messageId.right,
    account_id: accountId,
    contact_id: contactId,
    engagement_id: answered.right,
    text,
    meaning,
    ...(answer === undefined ? {} : { answer }),
    paused_until: later(now, day),
    gives_up_at: later(now, settings.right.give_up_after_minutes * 60_000),
  })
}

/** What is sent at once, by whatever hour; that an opt-out is the first one the contact itself knows. */
const answerTo: { readonly [meaning in ReplyMeaning]?: 'confirmation' | 'help' } = {
  opted_out: 'confirmation',
  help: 'help',
}

const answeredBy = async (
  { queries }: ManagePorts,
  contactId: ContactId,
  { newest }: Extract<ContactState, { readonly kind: 'known' }>,
): Promise<Either<Problem, EngagementId>> => {
  const sent = await queries.page(messages, { index: 'outbound', equals: [contactId], descending: true, limit: 1 })
  if (E.isLeft(sent)) return sent
  const id = sent.right[0]?.document.engagement_id ?? newest?.engagementId
  return id === undefined ? E.left(notFound) : E.right(id)
}

/** As they were when the engagement began; one that its playbook does not follow up goes by those of today. */
const settingsOf = async (
  { commandHandler }: ManagePorts,
  playbookAt: PlaybookVersions,
  id: EngagementId,
): Promise<Either<Problem, PlaybookSettings>> => {
  const loaded = await loadState(commandHandler, engagement, id)
  if (E.isLeft(loaded)) return loaded
  const state: EngagementState = loaded.right
  if (state.kind === 'unknown') return E.left({ kind: 'engagement-not-found' })
  const { playbook_id } = state.attribution
  const kept = state.followUp && (await playbookAt(playbook_id, state.followUp.playbookVersion))
  if (kept !== undefined) return E.right(kept)
  const current = await loadState(commandHandler, playbook, playbook_id)
  if (E.isLeft(current)) return current
  return current.right.kind === 'unknown' ? E.left({ kind: 'playbook-not-found' }) : E.right(current.right.settings)
}

const shown = ({
  id,
  direction,
  state,
  text,
  step,
  segments,
  attempts,
  reason,
  purpose,
  created_at: at,
  ...ids
}: MessageDocument) => ({
  id,
  next_engagement_id: ids.engagement_id,
  direction,
  state,
  text,
  step,
  purpose: purpose ?? null,
  segments,
  attempts,
  reason,
  at,
})
