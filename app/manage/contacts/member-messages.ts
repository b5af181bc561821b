import type { OpenAccount } from '../../../domain/account.js'
import { objectWith } from '../../../domain/codec.js'
import { contact } from '../../../domain/contact.js'
import { day } from '../../../domain/duration.js'
import { engagement } from '../../../domain/engagement.js'
import { EngagementId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { message, type MessageIds } from '../../../domain/message.js'
import { MessageText } from '../../../domain/message-template.js'
import { E, flow, type Either, type TaskEither } from '../../../domain/prelude.js'
import { loadState } from '../../commands/states/current-states.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { messageIdFor } from './message-id.js'

const MemberMessage = objectWith({ text: MessageText })

const notFound: Problem = { kind: 'engagement-not-found' }

/** In milliseconds: what a member wrote waits that long for the morning, a state's limit or a provider. */
const longestWait = 3 * day

/** A member writes to a contact by hand. Quiet hours and opt-outs hold as for the steps of a playbook. */
export const memberMessageEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/engagements/:engagement_id/messages',
    handle: flow(
      withAccount(ports),
      pathId('engagement_id', EngagementId, notFound),
      withBody(MemberMessage),
      bind('ids', ({ request, account, engagement_id }) => idsOf(ports, request, account, engagement_id)),
      execute(({ ids, body: { text }, caller }) => {
        const request = { purpose: 'member', text, expires_at: later(ports.clock.now(), longestWait) } as const
        const command = { type: 'RequestMessage', ids, request } as const
        return ports.clientCommands.execute(message, ids.message_id, command, caller.actor)
      }),
      answer(
        ({ result }) => (result.events.length > 0 ? 201 : 200),
        ({ ids: { message_id: id, contact_id, engagement_id: next_engagement_id } }) => ({
          message: { id, contact_id, next_engagement_id },
        }),
      ),
    ),
  },
]

/** Of the message; a problem where its contact may not be written to. */
const idsOf =
  (ports: ManagePorts, request: Request, account: OpenAccount, id: EngagementId): TaskEither<Problem, MessageIds> =>
  async () => {
    const loaded = await loadState(ports.commandHandler, engagement, id)
    if (E.isLeft(loaded)) return loaded
    const { right: state } = loaded
    if (state.kind !== 'started' || state.erased) return E.left(notFound)
    const { account_id, contact_id, engagement_id } = state.attribution
    if (account_id !== account.accountId) return E.left(notFound)
    const messageId = messageIdFor(ports, request, account, id)
    if (E.isLeft(messageId)) return messageId
    const ids = { message_id: messageId.right, account_id, contact_id, engagement_id }
    if (state.ended) return ifRequested(ports, ids, { kind: 'engagement-ended' })
    const person = await loadState(ports.commandHandler, contact, contact_id)
    if (E.isLeft(person)) return person
    return person.right.optedOut === true ? ifRequested(ports, ids, { kind: 'contact-opted-out' }) : E.right(ids)
  }

/** A repetition is no conflict: it is told the message of the first time, whatever has happened since. */
const ifRequested = async (
  { commandHandler }: Pick<ManagePorts, 'commandHandler'>,
  ids: MessageIds,
  conflict: Problem,
): Promise<Either<Problem, MessageIds>> => {
  const loaded = await loadState(commandHandler, message, ids.message_id)
  if (E.isLeft(loaded)) return loaded
  return loaded.right.kind === 'unknown' ? E.left(conflict) : E.right(ids)
}
