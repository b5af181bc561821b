import { account } from '../../domain/account.js'
import { fold, streamOf } from '../../domain/decider.js'
import type { Position } from '../../domain/event.js'
import type { NoticeId, WebhookId } from '../../domain/ids.js'
import { notice, type NoticeCommand, type NoticeFacts } from '../../domain/notice.js'
import type { Clock, CommandHandler, EventStore, Ids, Logger } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { webhook, type WebhookEvent } from '../../domain/webhook.js'
import { aborted } from '../../domain/abortable.js'
import { deliveries, queueOf } from '../read-models/deliveries.js'
import { follow, type Follower } from '../subscriptions/follower.js'
import { executeWithRetry } from '../subscriptions/retried-command.js'
import { isOver, type Lease } from '../subscriptions/leases.js'
import { notices, type NoticeDocument } from '../read-models/notices.js'
import type { Backoff } from '../subscriptions/backoff.js'
import type { Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { reasonOf } from '../subscriptions/failure-reason.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { letterOf, type Surroundings } from './letter.js'
import { nextMailingAt } from './retry-schedule.js'
import type { MailSender } from './sender.js'

export type Mailer = {
  /** Mails what is due until the lease is lost and what was under way has ended. */
  readonly work: (lease: Lease) => Promise<void>
}

export type MailerPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly commandHandler: CommandHandler
  readonly sender: MailSender
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** Keeps the `notices` read model. */
  readonly projected: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  readonly backoff: Backoff
  /** Where clients reach the service: nothing is mailed before that is known. */
  readonly siteUrl: Promise<string>
}

/** One process at a time mails, under a lease on this name. */
export const mailerName = 'mailer'

/** Mails that are under way at most. */
export const mailsAtOnce = 4

/** What one holder of the lease knows of. */
type Holding = {
  readonly lease: Lease
  readonly siteUrl: string
  /** Ends a sleep: something became due, or the lease is lost. */
  bell: AbortController
}

/** Mails what is due and records how it ended. At least once: a crash in between mails again, under the same id. */
export const mailer = (ports: MailerPorts): Mailer => {
  const { store, documents, commandHandler, sender, clock, logger, projected, backoff, siteUrl } = ports
  const due = collectionOf(notices)

  const arrivals = (holding: Holding): Follower => ({
    name: mailerName,
    categories: ['notice'],
    begin: async () => {
      // What lies before this is looked up in the read model, what lies behind it is seen here.
      const position = await projected.position()
      if (position === undefined) throw new Error('the read model of the notices does not answer')
      holding.bell.abort()
      return position
    },
    handle: async ({ events }) => {
      const last = events.findLast(({ type }) => type === 'NoticeDue')
      if (last === undefined) return
      await projected.caughtUpTo(last.position, holding.lease.lost)
      holding.bell.abort()
    },
  })

  /** One look at what is due: mails it, or sleeps until the next notice is due or the bell rings. */
  const look = async (holding: Holding): Promise<void> => {
    holding.bell = new AbortController()
    const found = orThrow(await documents.find(due, { index: 'due', equals: [], limit: mailsAtOnce }))
    const next = found.map(({ document }) => document as NoticeDocument)
    const now = clock.now()
    const ready = next.filter(({ next_attempt_at }) => next_attempt_at !== undefined && next_attempt_at <= now)
    const { signal } = holding.bell
    if (isOver(holding.lease)) return
    if (ready.length === 0) {
      const first = next[0]?.next_attempt_at
      await (first === undefined ? aborted(signal) : clock.sleepUntil(first, signal))
      return
    }
    const recorded = await Promise.all(ready.map(({ id }) => mailed(holding, id)))
    for (const position of recorded) {
      if (position === undefined) await backoff(0, holding.lease.lost)
      else await projected.caughtUpTo(position, holding.lease.lost)
    }
  }

  /** The position of what it left in the log; undefined where there was nothing to record, or no way to. */
  const mailed = async (holding: Holding, id: NoticeId): Promise<Position | undefined> => {
    try {
      return await tryOnce(holding, id)
    } catch (error) {
      const reason = reasonOf(error)
      logger.error({ notice: id, reason }, 'the mailing of a notice could not be recorded')
      return undefined
    }
  }

  const tryOnce = async (holding: Holding, id: NoticeId): Promise<Position | undefined> => {
    const state = orThrow(await commandHandler.load(notice, id)).state
    // The read model may not show yet what another process did before this one took over.
    if (state.kind !== 'due' || state.dueAt > clock.now()) return undefined
    const { facts, attempts } = state
    const owner = orThrow(await commandHandler.load(account, facts.account_id)).state
    const member = owner.kind === 'open' ? owner.members.get(facts.member_id) : undefined
    if (member === undefined) return record(holding, id, { type: 'AbandonNotice' })
    const letter = letterOf(facts, await surroundings(holding, facts))
    // Reading takes its time, and by now another process may be the one that mails.
    if (isOver(holding.lease)) return undefined
    const mailing = await sender.send({ id, at: facts.due_at, to: member.email, ...letter })
    const attempt = attempts + 1
    const nextAttemptAt = nextMailingAt(attempt, clock.now())
    return record(holding, id, { type: 'RecordAttempt', attempt, mailing, nextAttemptAt })
  }

  /** How the webhook was when it was turned off, and what became of it. */
  const surroundings = async (holding: Holding, facts: NoticeFacts): Promise<Surroundings> => {
    const { events } = orThrow(await store.read(streamOf(webhook, facts.webhook_id)))
    const index = events.findIndex(({ id }) => id === facts.turned_off_id)
    const history = events as unknown as ReadonlyArray<WebhookEvent>
    const then = fold(webhook, webhook.initial, history.slice(0, index + 1))
    const now = fold(webhook, then, history.slice(index + 1))
    if (then.kind !== 'off' || now.kind === 'unknown') throw new Error('the stream of a webhook does not turn it off')
    const waiting = await waitingFor(facts.webhook_id)
    return { siteUrl: holding.siteUrl, url: then.settings.url, state: now.kind, waiting }
  }

  /** A delivery is held when its next attempt would come: until then it still stands in its lane. */
  const waitingFor = async (webhookId: WebhookId): Promise<number> => {
    const parts = [
      { index: 'backlog', equals: [webhookId] },
      ...(['first', 'retry', 'caught-up'] as const).map((kind) => ({
        index: 'due',
        equals: [queueOf(webhookId, kind)],
      })),
    ]
    const counts = await Promise.all(parts.map((part) => documents.count(collectionOf(deliveries), part)))
    return counts.reduce((sum, count) => sum + orThrow(count), 0)
  }

  const record = async (holding: Holding, id: NoticeId, command: NoticeCommand): Promise<Position | undefined> => {
    const done = await executeWithRetry(ports, { actor: 'notice', lease: holding.lease }, notice, id, command)
    if (E.isLeft(done)) return undefined
    const last = done.right.events.at(-1)
    if (last?.type === 'NoticeAbandoned') logger.warn({ notice: id, ...last.data }, 'a notice is given up')
    return last?.position
  }

  return {
    work: async (lease) => {
      const known = await Promise.race([siteUrl, aborted(lease.lost)])
      if (known === undefined) return
      const holding: Holding = { lease, siteUrl: known, bell: new AbortController() }
      lease.lost.addEventListener('abort', () => holding.bell.abort(), { once: true })
      const following = follow(arrivals(holding), { store, logger, backoff })
      while (!isOver(holding.lease)) {
        try {
          await look(holding)
        } catch (error) {
          const reason = reasonOf(error)
          logger.warn({ reason }, 'due notices could not be read')
          await backoff(0, lease.lost)
        }
      }
      await following.stop()
    },
  }
}
