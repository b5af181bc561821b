import { foldStream, newAggregate } from '../../domain/aggregate.js'
import { account, type MemberRole } from '../../domain/account.js'
import { derivedEventId, noticeIdOf } from '../../domain/derived-id.js'
import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { AccountId, MemberId } from '../../domain/ids.js'
import { notice, type NoticeFacts } from '../../domain/notice.js'
import type { CommandHandler, EventStore, Logger } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { executedOrThrow } from '../parking/final-failure.js'
import { parking } from '../parking/parking.js'
import type { Checkpoint } from '../subscriptions/checkpoint.js'
import type { Follower } from '../subscriptions/follower.js'

/** What members are told of. */
type Trouble = EventOf<'WebhookTurnedOff' | 'SenderHeld' | 'SegmentLimitReached'>

type FanOutPorts = {
  readonly store: EventStore
  readonly commandHandler: CommandHandler
  readonly checkpoint: Checkpoint
  readonly logger: Logger
}

/** Its checkpoint, lease and parked events are stored under this name, so it stays as it is. */
export const noticeFanOutName = 'notice_projector'

/** Roles whose members are notified (contract 6.6.4). */
const notifiedRoles: ReadonlySet<MemberRole> = new Set<MemberRole>(['admin', 'manager'])

/**
 * The half of the process manager of notices that makes them due: webhooks that are turned off and messages that wait
 * in, commands out. It fans each of them out, to one notice for each admin and manager whom the account has at that
 * point of the log, and mails nobody: that is the mailer's half. A repeat writes nothing, since the stream of a notice
 * is derived from its cause and the member.
 */
export const noticeFanOut = (ports: FanOutPorts): Follower => {
  const { store, commandHandler, checkpoint } = ports
  const makeDue = async (event: Trouble, { cause, account_id, about }: Notification): Promise<void> => {
    for (const member_id of await recipientsAsOf(store, account_id, event)) {
      const facts: NoticeFacts = {
        notice_id: noticeIdOf(cause, member_id),
        account_id,
        member_id,
        due_at: event.time,
        ...about,
      }
      const eventId = (index: number): string => derivedEventId(event.id, facts.notice_id, index)
      const envelope = { actor: 'notice', cause: event, at: event.time, eventId }
      const command = { type: 'MakeDue', facts } as const
      const done = await commandHandler.execute(notice, facts.notice_id, command, envelope, newAggregate(notice))
      executedOrThrow('a notice', done)
    }
  }

  const work = async (event: RecordedEvent): Promise<void> => {
    if (event.type === 'WebhookTurnedOff') {
      const notification = await ofWebhook(store, event)
      if (notification !== undefined) await makeDue(event, notification)
    }
    if (event.type === 'SenderHeld') await makeDue(event, ofSender(event))
    if (event.type === 'SegmentLimitReached') await makeDue(event, ofLimit(event))
  }
  const name = noticeFanOutName
  const { handle, skip } = parking({ name, actor: 'notice', work }, ports)

  return {
    name,
    categories: ['webhook', 'sender', 'parked'],
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

/** What members are told. `cause`: nobody is told twice of the same cause. */
type Notification = {
  readonly cause: string
  readonly account_id: AccountId
  readonly about: WithoutMember<NoticeFacts>
}
type WithoutMember<Facts extends NoticeFacts> = Facts extends unknown
  ? Omit<Facts, 'notice_id' | 'account_id' | 'member_id' | 'due_at'>
  : never

const ofWebhook = async (store: EventStore, event: EventOf<'WebhookTurnedOff'>): Promise<Notification | undefined> => {
  const added = orThrow(await store.read(event.stream)).events[0]
  if (added?.type !== 'WebhookAdded') return undefined
  const { account_id, webhook_id } = added.data
  const { failing_since, reason } = event.data
  const since = failing_since === undefined ? {} : { failing_since }
  const about = { webhook_id, turned_off_id: event.id, turned_off_at: event.time, ...since, reason }
  return { cause: event.id, account_id, about }
}

/** One that is tried in vain is still the same trouble. */
const ofSender = ({ data: { account_id, since, reason } }: EventOf<'SenderHeld'>): Notification => ({
  cause: `sender/${account_id}/${since}`,
  account_id,
  about: { about: 'sender-held', since, reason },
})

const ofLimit = ({
  id,
  data: { account_id, month, segments_per_month },
}: EventOf<'SegmentLimitReached'>): Notification => ({
  cause: id,
  account_id,
  about: { about: 'segment-limit', month, segments_per_month },
})

/** Who was an admin or a manager when it happened, whoever came or went since. */
const recipientsAsOf = async (
  store: EventStore,
  accountId: AccountId,
  { position }: Trouble,
): Promise<ReadonlyArray<MemberId>> => {
  const { events } = orThrow(await store.read(streamOf(account, accountId)))
  const before = events.filter((event) => event.position < position)
  const state = foldStream(account, before)
  if (state.kind === 'unknown') return []
  return [...state.members].filter(([, { role }]) => notifiedRoles.has(role)).map(([id]) => id)
}
