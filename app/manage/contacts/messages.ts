import { objectWith } from '../../../domain/codec.js'
import { ContactId } from '../../../domain/ids.js'
import { MessageText } from '../../../domain/message-template.js'
import { flow } from '../../../domain/prelude.js'
import { messages, type MessageDocument } from '../../../projections/read-models/messages.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { receiveFromManagement } from '../../messaging/text-recording.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { contactNotFound, withContact } from './contact-in-path.js'
import { messageIdFor } from './message-id.js'

const ReceivedMessage = objectWith({ text: MessageText })

/**
 * What was written to a contact and by it. A `POST` brings what the contact writes to the sender of its account, where
 * no provider does.
 */
export const messageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/accounts/:account_id/contacts/:contact_id/messages',
    handle: flow(
      withContact(ports),
      withPage(ports.queries, messages, ({ contact_id }) => ({
        index: 'by_contact',
        equals: [contact_id],
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
      pathId('contact_id', ContactId, contactNotFound),
      withBody(ReceivedMessage),
      bind('messageId', ({ request, account, contact_id }) => messageIdFor(ports, request, account, contact_id)),
      execute(({ account, contact_id: contactId, body: { text }, messageId, caller: { actor } }) =>
        receiveFromManagement(ports, { account, contactId, messageId, text, actor }),
      ),
      answer(
        ({ result }) => (result.events.length > 0 ? 201 : 200),
        ({ result: { facts } }) => {
          const { message_id: id, contact_id, engagement_id: next_engagement_id, meaning } = facts
          return { message: { id, contact_id, next_engagement_id, meaning } }
        },
      ),
    ),
  },
]

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
