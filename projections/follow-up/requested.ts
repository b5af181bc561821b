import { account } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { streamOf } from '../../domain/decider.js'
import { engagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { MessageId } from '../../domain/ids.js'
import { later } from '../../domain/instant.js'
import { message, type MessageCommand } from '../../domain/message.js'
import { E } from '../../domain/prelude.js'
import { nextTryOf, type NextTry } from '../../domain/requested-message.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Lease } from '../subscriptions/leases.js'
import { executeWithRetry, FailedForGood, readOrThrow } from '../subscriptions/retried-command.js'
import { settingsOf } from './playbook-versions.js'
import { mayProbe } from './sending/hold.js'
import { sendMessage, settleMessage, type Sending } from './sending/try.js'
import { sentSince, type StepPorts } from './step.js'

const day = 24 * 60 * 60_000

/**
 * Tries a message that is no step, where it may be sent now: resolves with the position of its last record, or with undefined where there was
 * nothing to record.
 * @throws FailedForGood, and where a store fails
 */
export const sendRequested = async (ports: StepPorts, lease: Lease, id: MessageId): Promise<Position | undefined> => {
  const { commandHandler, clock } = ports
  const { state } = readOrThrow(streamOf(message, id), await commandHandler.load(message, id))
  if (!('request' in state) || state.request === undefined) return undefined
  const facts = state.kind === 'requested' ? state.ids : state.facts
  const { account_id, contact_id, engagement_id } = facts
  const person = readOrThrow(streamOf(contact, contact_id), await commandHandler.load(contact, contact_id)).state
  const owner = orThrow(await ports.currentAccount(account_id))
  const conversation = readOrThrow(
    streamOf(engagement, engagement_id),
    await commandHandler.load(engagement, engagement_id),
  ).state
  if (owner.kind !== 'open' || conversation.kind === 'unknown') {
    const missing = owner.kind === 'open' ? streamOf(engagement, engagement_id) : streamOf(account, account_id)
    throw new FailedForGood(missing, { kind: 'corrupt', reason: 'a message lacks its account or its engagement' })
  }
  const settings = await settingsOf(ports, conversation)
  const { held } = orThrow(await ports.currentSender(account_id))
  const now = clock.now()
  const next = nextTryOf({
    ...{ message: state, engagement: conversation, settings, contact: person, account: owner, now },
    heldUntil: held?.until,
    sentInLastDay: await sentSince(ports.documents, contact_id, later(now, -day)),
  })
  if (next.kind === 'send' || next.kind === 'settle') {
    const to = person.kind === 'known' ? person.details.phone : undefined
    if (to === undefined) return undefined
    const sending: Sending = { facts, to, lease, after: undefined }
    if (next.kind === 'settle') return settleMessage(ports, sending)
    const isProbe = held !== undefined
    if (isProbe && !(await mayProbe(ports, lease, account_id))) return undefined
    // Answers and what members write take their places too, and wait for none.
    ports.rates.placeOf(owner.sender, id, now)
    return sendMessage(ports, { ...sending, ...next, from: owner.sender?.from, isProbe })
  }
  const command = commandFor(next)
  if (command === undefined) return undefined
  const done = await executeWithRetry(ports, { actor: 'follow-up', lease }, message, id, command)
  return E.isLeft(done) ? undefined : done.right.events.at(-1)?.position
}

const commandFor = (next: Exclude<NextTry, { readonly kind: 'send' | 'settle' }>): MessageCommand | undefined => {
  switch (next.kind) {
    case 'nothing':
      return undefined
    case 'postpone':
      return { type: 'PostponeMessage', until: next.until, reason: next.reason }
    case 'withdraw':
      return { type: 'WithdrawMessage', kind: next.why, reason: next.reason }
  }
}
