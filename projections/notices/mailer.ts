import { aborted } from '../../domain/abortable.js'
import { reasonOf, StatedFailure } from '../../domain/failure-reason.js'
import { roundRobin } from '../../domain/round-robin.js'
import type { AccountId, NoticeId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { notice } from '../../domain/notice.js'
import { wakeUp, type WakeUp } from '../../domain/wake-up.js'
import { findNotSetAside } from '../parking/not-set-aside.js'
import { parkedWork, recordedBy, type ParkedUnderLease, type ParkedWork } from '../parking/parked-work.js'
import type { Query } from '../ports.js'
import { collectionOf } from '../projection.js'
import { notices, type NoticeDocument } from '../read-models/notices.js'
import { follow, type Follower, type RunningFollower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { workWithRetry } from '../subscriptions/retries/retried-work.js'
import { attemptNotice, type AttemptPorts } from './attempt.js'

type Mailer = {
  /** Mails what is due until the lease is ending and what was in flight has ended. */
  readonly work: (lease: Lease) => Promise<void>
  /** Why something is tried again; undefined while all goes on, or another process mails. */
  readonly retrying: () => string | undefined
}

type MailerPorts = AttemptPorts & {
  readonly noticesFollower: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  /** Where clients reach the service: nothing is mailed before that is known. */
  readonly siteUrl: Promise<string>
}

/** One process at a time mails, under a lease on this name. Parked events are stored under it too, so it stays. */
export const mailerName = 'mailer'

/** E-mails that are in flight at most, and of one account: those that hang leave a place for others. */
const places = { most: 4, mostOfAccount: 3 }

/** Notices that are read at a look: of the first of them there may be too many of one account. */
const noticesRead = 100

/** The holder of the lease, and what it mails with. */
type LeaseHolder = ParkedUnderLease & {
  readonly siteUrl: string
  readonly wakeUp: WakeUp
  readonly parked: ParkedWork<LeaseHolder>
  /** What is being mailed; `ended` never rejects. */
  readonly inFlight: Map<NoticeId, { readonly account_id: AccountId; readonly ended: Promise<void> }>
}

/**
 * The half of the process manager of notices that sends: events in, e-mails and commands out. The fan-out is the half
 * that makes notices due.
 */
export const mailer = (ports: MailerPorts): Mailer => {
  const { failingWork } = ports
  let following: RunningFollower | undefined

  const work = async (lease: Lease): Promise<void> => {
    const { store, logger, backoff } = ports
    const siteUrl = await Promise.race([ports.siteUrl, aborted(lease.ending)])
    if (siteUrl === undefined) return
    const worker = { name: mailerName, actor: 'notice', ...recordedBy(notice), holderOf: () => holder }
    const parked: ParkedWork<LeaseHolder> = parkedWork(worker, ports)
    const holder: LeaseHolder = {
      lease,
      siteUrl,
      wakeUp: wakeUp(),
      parked,
      setAside: new Map(),
      retried: new Map(),
      inFlight: new Map(),
    }
    void aborted(lease.ending).then(holder.wakeUp.wake)
    const ofNotices = follow(dueNotices(ports, holder), { store, logger, backoff })
    following = ofNotices
    const retried = { lease, name: mailerName, message: 'due notices could not be read' }
    while (!isEnding(lease)) await workWithRetry(ports, retried, () => mailDue(ports, holder))
    following = undefined
    await Promise.all([...holder.inFlight.values()].map(({ ended }) => ended))
    await ofNotices.stop()
  }

  return {
    work,
    retrying: () => following?.retrying() ?? failingWork.reason(),
  }
}

/** Wakes the mailer when a notice became due and the read model shows it. */
const dueNotices = ({ noticesFollower }: MailerPorts, { lease, parked, wakeUp: { wake } }: LeaseHolder): Follower => ({
  name: mailerName,
  categories: ['notice', 'parked'],
  begin: async () => {
    // What became due up to here is found in the read model, what becomes due later is learnt from the log.
    const position = await noticesFollower.position()
    if (position === undefined) throw new StatedFailure('the read model of the notices does not answer')
    wake()
    return position
  },
  handle: async ({ events }) => {
    for (const event of events) if ((await parked.release(event)) !== undefined) wake()
    const last = events.findLast(({ type }) => type === 'NoticeDue')
    if (last === undefined) return
    await noticesFollower.caughtUpTo(last.position, lease.ending)
    wake()
  },
  // Whoever makes notices due has parked it, and a retry that can't be read is asked for once more.
  skip: () => Promise.resolve(),
})

/**
 * Begins to mail what is due, as far as there is room. Then it sleeps until the next notice is due or something wakes
 * it.
 */
const mailDue = async (ports: MailerPorts, holder: LeaseHolder): Promise<void> => {
  const { clock, failingWork } = ports
  const { lease, inFlight } = holder
  const woken = holder.wakeUp.signal()
  if (inFlight.size >= places.most) return aborted(woken)
  const now = clock.now()
  const waiting = await waitingNotices(ports, holder, now)
  failingWork.ended(mailerName)
  if (isEnding(lease)) return
  const mailing = [...inFlight.values()].map(({ account_id }) => account_id)
  for (const { id, account_id } of roundRobin(waiting.filter(isDueAt(now)), mailing, places))
    inFlight.set(id, { account_id, ended: attempt(ports, holder, id) })
  const next = waiting.find((one) => !isDueAt(now)(one))?.next_attempt_at
  return next === undefined ? aborted(woken) : clock.sleepUntil(next, woken)
}

const isDueAt =
  (now: Instant) =>
  ({ next_attempt_at }: NoticeDocument): boolean =>
    next_attempt_at !== undefined && next_attempt_at <= now

/**
 * Those that are next, and where all of these are due those as well that became so last. None of them is in flight or
 * set aside.
 */
const waitingNotices = async (
  ports: MailerPorts,
  { setAside, inFlight }: LeaseHolder,
  now: Instant,
): Promise<ReadonlyArray<NoticeDocument>> => {
  const read = async (bounds: Pick<Query, 'upTo' | 'descending'>): Promise<ReadonlyArray<NoticeDocument>> => {
    const query = { ...bounds, index: 'due', equals: [], limit: noticesRead + places.most }
    const found = await findNotSetAside(ports, collectionOf(notices), query, setAside)
    const free = found.filter(({ key }) => !inFlight.has(key as NoticeId))
    return free.slice(0, noticesRead).map(({ document }) => document as NoticeDocument)
  }
  const oldest = await read({})
  if (oldest.length < noticesRead || !oldest.every(isDueAt(now))) return oldest
  const newest = await read({ upTo: now, descending: true })
  const known = new Set(oldest.map(({ id }) => id))
  return [...oldest, ...newest.filter(({ id }) => !known.has(id))]
}

/** Never rejects. */
const attempt = async (ports: MailerPorts, holder: LeaseHolder, id: NoticeId): Promise<void> => {
  const { noticesFollower, backoff, failingWork, logger } = ports
  const { lease, parked, inFlight, wakeUp } = holder
  try {
    const position = await attemptNotice(ports, holder, id).catch(setAside(holder, id))
    failingWork.ended(id)
    if (position === undefined) {
      await backoff(0, lease.ending)
      return
    }
    await parked.succeeded(holder, id)
    // Before the read model shows how it ended it would show it as due again.
    await noticesFollower.caughtUpTo(position, lease.ending)
  } catch (error) {
    logger.error({ notice: id, reason: reasonOf(error) }, 'the mailing of a notice could not be recorded')
    failingWork.failed(lease, id, error)
    await backoff(0, lease.ending)
  } finally {
    inFlight.delete(id)
    wakeUp.wake()
  }
}

const setAside =
  (holder: LeaseHolder, id: NoticeId) =>
  async (error: unknown): Promise<undefined> => {
    await holder.parked.failed(holder, id, holder.parked.finalFailure(holder, id, error))
  }
