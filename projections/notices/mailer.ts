import { aborted } from '../../domain/abortable.js'
import type { Position } from '../../domain/event.js'
import type { NoticeId } from '../../domain/ids.js'
import { notice } from '../../domain/notice.js'
import { orThrow } from '../../domain/store-failed.js'
import { parkedWork, recordedBy, type ParkedUnderLease, type ParkedWork } from '../parking/parked-work.js'
import { collectionOf } from '../projection.js'
import { notices, type NoticeDocument } from '../read-models/notices.js'
import { isTold } from '../subscriptions/backoff.js'
import { reasonOf, StatedFailure } from '../../domain/failure-reason.js'
import { follow, type Follower, type RunningFollower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { FailedForGood } from '../subscriptions/retried-command.js'
import { attemptNotice, type AttemptPorts } from './attempt.js'
import { wakeUp, type WakeUp } from '../../domain/wake-up.js'

type Mailer = {
  /** Mails what is due until the lease is ending and what was in flight has ended. */
  readonly work: (lease: Lease) => Promise<void>
  /** Why something is tried again; undefined while all goes on, or another process mails. */
  readonly retrying: () => string | undefined
}

type MailerPorts = AttemptPorts & {
  /** Runs the `notices` read model. */
  readonly projected: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  /** Where clients reach the service: nothing is mailed before that is known. */
  readonly siteUrl: Promise<string>
}

/** One process at a time mails, under a lease on this name. */
export const mailerName = 'mailer'

/** E-mails that are in flight at most. */
const mailsAtOnce = 4

/** The holder of the lease, and what it mails with. */
type LeaseHolder = ParkedUnderLease & {
  readonly siteUrl: string
  readonly wakeUp: WakeUp
  readonly parked: ParkedWork<LeaseHolder>
}

/**
 * The half of the process manager of notices that sends: events in, e-mails and commands out. The fan-out is the half that
 * makes notices due.
 */
export const mailer = (ports: MailerPorts): Mailer => {
  const { failingWork } = ports
  let following: RunningFollower | undefined

  const work = async (lease: Lease): Promise<void> => {
    const { store, logger, backoff } = ports
    const siteUrl = await Promise.race([ports.siteUrl, aborted(lease.ending)])
    if (siteUrl === undefined) return
    const worker = { name: mailerName, actor: 'notice', ...recordedBy(notice), placeOf: () => holder }
    const parked: ParkedWork<LeaseHolder> = parkedWork(worker, ports)
    const holder: LeaseHolder = { lease, siteUrl, wakeUp: wakeUp(), setAside: new Map(), retried: new Map(), parked }
    void aborted(lease.ending).then(holder.wakeUp.wake)
    const ofNotices = follow(dueNotices(ports, holder), { store, logger, backoff })
    following = ofNotices
    let failures = 0
    while (!isEnding(lease)) {
      try {
        await mailDue(ports, holder)
        failures = 0
      } catch (error) {
        if (isTold(failures)) logger.warn({ reason: reasonOf(error) }, 'due notices could not be read')
        failingWork.failed(lease, mailerName, error)
        await backoff(failures, lease.ending)
        failures += 1
      }
    }
    following = undefined
    await ofNotices.stop()
  }

  return {
    work,
    retrying: () => following?.retrying() ?? failingWork.reason(),
  }
}

/** Wakes the mailer when a notice became due and the read model shows it. */
const dueNotices = ({ projected }: MailerPorts, { lease, parked, wakeUp: { wake } }: LeaseHolder): Follower => ({
  name: mailerName,
  categories: ['notice', 'parked'],
  begin: async () => {
    // What became due up to here is found in the read model, what becomes due later is learnt from the log.
    const position = await projected.position()
    if (position === undefined) throw new StatedFailure('the read model of the notices does not answer')
    wake()
    return position
  },
  handle: async ({ events }) => {
    for (const event of events) if ((await parked.learn(event)) !== undefined) wake()
    const last = events.findLast(({ type }) => type === 'NoticeDue')
    if (last === undefined) return
    await projected.caughtUpTo(last.position, lease.ending)
    wake()
  },
  // Whoever makes notices due has parked it, and a retry that can't be read is asked for once more.
  skip: () => Promise.resolve(),
})

/** Mails what is due now. Where nothing is, sleeps until the next notice is due or something wakes it. */
const mailDue = async (ports: MailerPorts, holder: LeaseHolder): Promise<void> => {
  const { documents, clock, projected, backoff, failingWork } = ports
  const { lease, setAside } = holder
  const woken = holder.wakeUp.signal()
  const query = { index: 'due', equals: [], limit: mailsAtOnce, except: [...setAside.keys()] }
  const found = orThrow(await documents.find(collectionOf(notices), query))
  failingWork.ended(mailerName)
  const next = found.map(({ document }) => document as NoticeDocument)
  const now = clock.now()
  const due = next.filter(({ next_attempt_at }) => next_attempt_at !== undefined && next_attempt_at <= now)
  if (isEnding(lease)) return
  if (due.length === 0) {
    const first = next[0]?.next_attempt_at
    return first === undefined ? aborted(woken) : clock.sleepUntil(first, woken)
  }
  const recorded = await Promise.all(due.map(({ id }) => attempt(ports, holder, id)))
  // Before the read model shows how they ended it would show them as due again.
  for (const position of recorded) {
    if (position === undefined) await backoff(0, lease.ending)
    else await projected.caughtUpTo(position, lease.ending)
  }
}

const attempt = async (ports: MailerPorts, holder: LeaseHolder, id: NoticeId): Promise<Position | undefined> => {
  try {
    const position = await attemptNotice(ports, holder, id).catch(setAside(holder, id))
    ports.failingWork.ended(id)
    if (position !== undefined) await holder.parked.succeeded(holder, id)
    return position
  } catch (error) {
    ports.logger.error({ notice: id, reason: reasonOf(error) }, 'the mailing of a notice could not be recorded')
    ports.failingWork.failed(holder.lease, id, error)
    return undefined
  }
}

const setAside =
  (holder: LeaseHolder, id: NoticeId) =>
  async (error: unknown): Promise<undefined> => {
    if (!(error instanceof FailedForGood) && isEnding(holder.lease)) throw error
    await holder.parked.failed(holder, id, holder.parked.finalFailure(id, error))
  }
