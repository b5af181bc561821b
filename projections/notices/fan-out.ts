import { newAggregate } from '../../domain/aggregate.js'
import { account, type AccountEvent, type MemberRole } from '../../domain/account.js'
import { fold, streamOf } from '../../domain/decider.js'
import { derivedEventId, noticeIdOf } from '../../domain/derived-id.js'
import type { AccountId, MemberId } from '../../domain/ids.js'
import { notice, type NoticeFacts } from '../../domain/notice.js'
import type { CommandHandler, EventStore, Logger } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { executedOrThrow } from '../parking/final-failure.js'
import { parking } from '../parking/parking.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import type { Follower } from '../subscriptions/follower.js'
import type { ProjectedEvent } from '../projection.js'

type TurnedOff = Extract<ProjectedEvent, { readonly type: 'WebhookTurnedOff' }>

type FanOutPorts = {
  readonly store: EventStore
  readonly commandHandler: CommandHandler
  readonly checkpoint: Checkpoint
  readonly logger: Logger
}

/** Roles whose members are notified (contract 6.6.4). */
const notifiedRoles: ReadonlySet<MemberRole> = new Set<MemberRole>(['admin', 'manager'])

/**
 * The half of the process manager of notices that makes them due: webhooks that are turned off in, commands out. It fans
 * each turning off out, to one notice for each admin and manager whom the account has at that point of the log, and mails nobody:
 * that is the mailer's half. A repeat writes nothing, since the stream of a notice is derived from the event and the member.
 */
export const noticeFanOut = (ports: FanOutPorts): Follower => {
  const { store, commandHandler, checkpoint } = ports
  const makeDue = async (event: TurnedOff): Promise<void> => {
    const added = orThrow(await store.read(event.stream)).events[0]
    if (added?.type !== 'WebhookAdded') return
    const { account_id, webhook_id } = added.data
    for (const member_id of await recipientsAsOf(store, account_id, event)) {
      const facts: NoticeFacts = {
        notice_id: noticeIdOf(event.id, member_id),
        account_id,
        member_id,
        webhook_id,
        turned_off_id: event.id,
        turned_off_at: event.time,
        ...(event.data.failing_since === undefined ? {} : { failing_since: event.data.failing_since }),
        reason: event.data.reason,
        due_at: event.time,
      }
      const eventId = (index: number): string => derivedEventId(event.id, facts.notice_id, index)
      const cause = { actor: 'notice', event, at: event.time, eventId }
      const command = { type: 'MakeDue', facts } as const
      const done = await commandHandler.execute(notice, facts.notice_id, command, cause, newAggregate(notice))
      executedOrThrow('a notice', done)
    }
  }

  const work = async (event: ProjectedEvent): Promise<void> => {
    if (event.type === 'WebhookTurnedOff') await makeDue(event)
  }
  const name = 'notice_projector'
  const { handle, skip } = parking({ name, actor: 'notice', work }, ports)

  return {
    name,
    categories: ['webhook', 'parked'],
    begin: checkpoint.load,
    handle: async (batch) => {
      for (const event of batch.events) await handle(event)
      await checkpoint.advance(batch)
    },
    skip,
    // What was done already must not be parked when it comes again after a stop.
    end: checkpoint.flush,
  }
}

/** Who was an admin or a manager when it happened, whoever came or went since. */
const recipientsAsOf = async (
  store: EventStore,
  accountId: AccountId,
  { position }: TurnedOff,
): Promise<ReadonlyArray<MemberId>> => {
  const { events } = orThrow(await store.read(streamOf(account, accountId)))
  const before = events.filter((event) => event.position < position) as unknown as ReadonlyArray<AccountEvent>
  const state = fold(account, account.initial, before)
  if (state.kind === 'unknown') return []
  return [...state.members].filter(([, { role }]) => notifiedRoles.has(role)).map(([id]) => id)
}
