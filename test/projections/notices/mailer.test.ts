import test from 'ava'
import { account, type AccountCommand } from '../../../domain/account.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { neverAborted } from '../../../domain/abortable.js'
import { delivery } from '../../../domain/delivery.js'
import { parkedEventIdOf } from '../../../domain/derived-id.js'
import { beginning } from '../../../domain/event.js'
import { later, millisecondsOf } from '../../../domain/instant.js'
import type { MailOutcome } from '../../../domain/mail-outcome.js'
import { notice } from '../../../domain/notice.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { UndecodableEvent } from '../../../domain/store-failed.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { notices } from '../../../projections/read-models/notices.js'
import { mailer } from '../../../projections/notices/mailer.js'
import type { Mail } from '../../../projections/notices/mail-transport.js'
import { anyProjection } from '../../../projections/projection.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { testLease, type TestLease } from '../../kit/parts/lease.js'
import { readModelFollower } from '../../kit/parts/read-model-follower.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { rightOf } from '../../kit/right-of.js'
import {
  accountId,
  deliveryFacts,
  deliveryId,
  memberId,
  noticeFacts,
  noticeId,
  openAccountCommand,
  uuid,
  webhookSettings,
} from '../../kit/domain/samples.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { nextTurn, settled, turnTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { accountWithWebhook } from '../../kit/parts/account-with-webhook.js'
import { mostMailAttempts } from '../../../domain/retry-schedule.js'

type Answer = (mail: Mail) => Promise<MailOutcome>

const greylisted: MailOutcome = { kind: 'failed', reason: 'SMTP 451' }
const isSent: Answer = () => Promise.resolve('sent')

/** An account with a webhook that is off, and the read models, for one mailer or several. */
const openStage = async (
  watched: (store: EventStore) => EventStore = (store) => store,
  shown: ReadonlyArray<typeof notices | typeof deliveries> = [notices, deliveries],
) => {
  const { store: embedded, documents, close } = await openSqliteStores()
  const store = watched(embedded)
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(store, clock)
  const logger = recordingLogger()
  const envelope = { actor: 'test', eventId: ids.uuid }
  const closing: Array<() => Promise<void>> = []

  const followers = shown.map((projection) => {
    const readModel = anyProjection(projection as typeof notices)
    const follower = readModelFollower(readModel, { store, logger, backoff: nextTurn }, documents)
    const lease = testLease(readModel.name)
    const work = follower.run(lease)
    closing.push(() => {
      lease.recall()
      return work
    })
    return follower
  })
  const [noticesFollower, ofDeliveries] = followers
  if (noticesFollower === undefined) throw new Error('no read model runs')

  const settings = webhookSettings({ url: 'https://receiver.example/hook?key=1' })
  const { inAccount, turnOff } = await accountWithWebhook(commandHandler, envelope, settings)
  const turnedOff = await turnOff()
  // What an e-mail says rests on what is shown: before a read model is built it says less.
  const head = rightOf(await store.head())
  await Promise.all(followers.map(({ caughtUpTo }) => caughtUpTo(head, neverAborted)))

  return {
    clock,
    logged: () => logger.lines.map(({ fields, message }) => `${message} ${JSON.stringify(fields)}`).join('\n'),
    removeMember: (n: number) => inAccount({ type: 'RemoveMember', memberId: memberId(n) }),
    /** A notice for a member of its own. */
    makeDue: async (n: number) => {
      await inAccount({ type: 'AddMember', memberId: memberId(n), email: `member-${n}@example.com`, role: 'admin' })
      const made = { notice_id: noticeId(n), member_id: memberId(n), due_at: clock.now() }
      const facts = noticeFacts({ ...made, turned_off_id: turnedOff?.id ?? '' })
      rightOf(await commandHandler.execute(notice, noticeId(n), { type: 'MakeDue', facts }, envelope))
    },
    /** The same in another account. */
    makeDueElsewhere: async (n: number) => {
      const other = { account_id: accountId(2), member_id: memberId(n) }
      const inOther = async (command: AccountCommand): Promise<void> => {
        rightOf(await commandHandler.execute(account, other.account_id, command, envelope))
      }
      await inOther({ ...openAccountCommand, accountId: other.account_id })
      await inOther({ type: 'AddMember', memberId: other.member_id, email: 'other@example.com', role: 'admin' })
      const made = { notice_id: noticeId(n), due_at: clock.now(), turned_off_id: turnedOff?.id ?? '' }
      const command = { type: 'MakeDue', facts: noticeFacts({ ...other, ...made }) } as const
      rightOf(await commandHandler.execute(notice, noticeId(n), command, envelope))
    },
    makeDelivery: async (n: number, held: boolean) => {
      const facts = deliveryFacts({ delivery_id: deliveryId(n) })
      const command = { type: 'MakeDue', facts, heldAt: held ? 2 : undefined } as const
      const { events } = rightOf(await commandHandler.execute(delivery, deliveryId(n), command, envelope))
      await ofDeliveries?.caughtUpTo(events[0]?.position ?? beginning, neverAborted)
    },
    state: async (n: number) => rightOf(await commandHandler.load(notice, noticeId(n))).state,
    events: async (n: number) => rightOf(await store.read(`notice-${noticeId(n)}`)).events.map(({ type }) => type),
    /** What was recorded of all that was parked. */
    parked: async () => {
      const all = []
      for await (const { events } of store.history(beginning, ['parked'], neverAborted)) all.push(...events)
      return all
    },
    /** Asks for a retry of what is parked because of the newest event of a stream. */
    retry: async (stream: string) => {
      const [newest] = rightOf(await store.readLast(stream, 1))
      const id = parkedEventIdOf('mailer', newest?.id ?? '')
      rightOf(await commandHandler.execute(parkedEvent, id, { type: 'RequestRetry' }, envelope))
    },
    /** Mails under a lease that the test takes away. */
    mail: (
      answer: Answer,
    ): {
      readonly sent: ReadonlyArray<Mail>
      readonly lease: TestLease
      readonly done: Promise<void>
      readonly retrying: () => string | undefined
    } => {
      const sent: Array<Mail> = []
      const mailTransport = {
        send: (mail: Mail) => {
          sent.push(mail)
          return answer(mail)
        },
      }
      const siteUrl = Promise.resolve('https://leads.example.com')
      const lease = testLease('mailer')
      const { work, retrying } = mailer({
        store,
        documents,
        commandHandler,
        mailTransport,
        clock,
        ids,
        logger,
        noticesFollower,
        backoff: nextTurn,
        failingWork: failingWork(turnTime),
        siteUrl,
      })
      const done = work(lease)
      closing.push(() => {
        lease.recall()
        return done
      })
      return { sent, lease, done, retrying }
    },
    until: (isSo: () => boolean | Promise<boolean>) => until('what the test waits for', 60_000, isSo),
    close: async () => {
      for (const end of closing.toReversed()) await end()
      await close()
    },
  }
}

test('what is due is mailed once, and recorded', async (t) => {
  const { makeDue, makeDelivery, mail, until, state, events, close } = await openStage()
  await makeDelivery(1, true)
  await makeDelivery(2, true)
  await makeDelivery(3, false)
  const { sent } = mail(isSent)
  await makeDue(1)
  await until(async () => (await state(1)).kind === 'over')
  await settled()
  t.is(sent.length, 1)
  t.like(sent[0], { id: noticeId(1), to: 'member-1@example.com' })
  t.is(sent[0]?.subject, 'The webhook to https://receiver.example was turned off')
  t.regex(sent[0]?.text ?? '', /^Held for it now: 3 deliveries\.$/m)
  t.regex(sent[0]?.text ?? '', /^POST https:\/\/leads\.example\.com\/manage\/v1\//m)
  t.deepEqual(await events(1), ['NoticeDue', 'NoticeSent'])
  await close()
})

test('while the read model of the deliveries is missing an e-mail says nothing of how many are held', async (t) => {
  const { makeDue, makeDelivery, mail, until, state, close } = await openStage(undefined, [notices])
  await makeDelivery(1, true)
  const { sent } = mail(isSent)
  await makeDue(1)
  await until(async () => (await state(1)).kind === 'over')
  t.notRegex(sent[0]?.text ?? '', /Held for it now/)
  t.regex(sent[0]?.text ?? '', /^New activity is held too: nothing is lost\.$/m)
  await close()
})

test('what was due before the mailer began is mailed too', async (t) => {
  const { makeDue, mail, until, state, close } = await openStage()
  for (let n = 1; n <= 9; n += 1) await makeDue(n)
  const { sent } = mail(isSent)
  for (let n = 1; n <= 9; n += 1) await until(async () => (await state(n)).kind === 'over')
  t.is(sent.length, 9)
  await close()
})

test('a notice that fails is mailed again for about four days, with the same id and time, and then given up', async (t) => {
  const { makeDue, mail, until, state, events, clock, logged, close } = await openStage()
  const began = millisecondsOf(clock.now())
  const { sent } = mail(() => Promise.resolve(greylisted))
  await makeDue(1)
  for (let attempt = 1; attempt <= mostMailAttempts; attempt += 1) {
    await until(() => sent.length === attempt)
    if (attempt < mostMailAttempts) await until(() => clock.toNextTimer())
  }
  await until(() => logged().includes('given up'))
  t.is((await state(1)).kind, 'over')
  t.is(new Set(sent.map(({ id, at }) => `${id} ${at}`)).size, 1)
  const days = (millisecondsOf(clock.now()) - began) / (24 * 60 * 60_000)
  t.true(days > 4 && days < 4.1, `${days} days`)
  t.is((await events(1)).at(-1), 'NoticeAbandoned')
  t.regex(logged(), new RegExp(`given up .*${noticeId(1)}.*attempts-exhausted`))
  t.notRegex(logged(), /@/)
  await close()
})

test('a notice that is refused for good is given up at once, and logged by its id', async (t) => {
  const { makeDue, mail, until, state, logged, close } = await openStage()
  const { sent } = mail(() => Promise.resolve({ kind: 'refused', reason: 'SMTP 550' }))
  await makeDue(1)
  await until(() => logged().includes('given up'))
  t.is((await state(1)).kind, 'over')
  await settled()
  t.is(sent.length, 1)
  t.regex(logged(), new RegExp(`given up .*${noticeId(1)}.*refused.*SMTP 550`))
  t.notRegex(logged(), /@/)
  await close()
})

test('addresses that fail keep no other notice waiting', async (t) => {
  const { makeDue, mail, until, state, close } = await openStage()
  for (let n = 1; n <= 8; n += 1) await makeDue(n)
  mail(({ to }) => Promise.resolve(to === 'member-8@example.com' ? 'sent' : greylisted))
  await until(async () => (await state(8)).kind === 'over')
  t.is((await state(1)).kind, 'due')
  await close()
})

test('mails that hang keep no place but their own', async (t) => {
  const { makeDue, mail, until, state, close } = await openStage()
  for (let n = 1; n <= 12; n += 1) await makeDue(n)
  const hanging: Array<(outcome: MailOutcome) => void> = []
  const hangs: Answer = () => new Promise((resolve) => hanging.push(resolve))
  const { sent } = mail((one) => (/member-[12]@/.test(one.to) ? hangs(one) : isSent(one)))
  for (let n = 3; n <= 12; n += 1) await until(async () => (await state(n)).kind === 'over')
  t.is(sent.length, 12)
  for (const end of hanging) end(greylisted)
  await close()
})

test('however many mails of one account hang and wait, that of another goes out', async (t) => {
  const { clock, makeDue, makeDueElsewhere, mail, until, state, close } = await openStage()
  for (let n = 1; n <= 120; n += 1) await makeDue(n)
  const hanging: Array<(outcome: MailOutcome) => void> = []
  const { sent } = mail((one) =>
    one.to === 'other@example.com' ? isSent(one) : new Promise((resolve) => hanging.push(resolve)),
  )
  await until(() => sent.length > 0)
  clock.set(later(clock.now(), 1_000))
  await makeDueElsewhere(900)
  await until(async () => (await state(900)).kind === 'over')
  t.is(sent.length, 4)
  for (const end of hanging) end(greylisted)
  await close()
})

test('what becomes due while another notice waits for its retry is mailed at once', async (t) => {
  const { makeDue, mail, until, state, close } = await openStage()
  const { sent } = mail(({ to }) => Promise.resolve(to === 'member-2@example.com' ? 'sent' : greylisted))
  await makeDue(1)
  await until(() => sent.length === 1)
  await settled()
  await makeDue(2)
  await until(async () => (await state(2)).kind === 'over')
  t.is(sent.length, 2)
  await close()
})

test('a member who was removed meanwhile is not mailed', async (t) => {
  const { makeDue, removeMember, mail, until, state, events, close } = await openStage()
  await makeDue(1)
  await removeMember(1)
  const { sent } = mail(isSent)
  await until(async () => (await state(1)).kind === 'over')
  t.deepEqual(await events(1), ['NoticeDue', 'NoticeAbandoned'])
  t.is(sent.length, 0)
  await close()
})

test('after a crash between mailing and recording the next mailer mails the same once more', async (t) => {
  const { makeDue, mail, until, state, events, close } = await openStage()
  const first: { readonly sent: ReadonlyArray<Mail>; readonly lease: TestLease } = mail(() => {
    first.lease.expire()
    return Promise.resolve('sent')
  })
  await makeDue(1)
  await until(() => first.sent.length === 1)
  await settled()
  t.deepEqual(await events(1), ['NoticeDue'])
  const second = mail(isSent)
  await until(async () => (await state(1)).kind === 'over')
  t.deepEqual(second.sent, first.sent)
  t.deepEqual(await events(1), ['NoticeDue', 'NoticeSent'])
  await close()
})

test('a mailer whose lease was lost neither mails nor writes any more', async (t) => {
  const { makeDue, mail, events, close } = await openStage()
  const { sent, lease, done } = mail(isSent)
  lease.expire()
  await done
  await makeDue(1)
  await settled()
  t.is(sent.length, 0)
  t.deepEqual(await events(1), ['NoticeDue'])
  await close()
})

test('a lease that is given back waits for the e-mail that is in flight, and its attempt outcome is recorded', async (t) => {
  const { makeDue, mail, until, events, close } = await openStage()
  let finish: (outcome: MailOutcome) => void = () => undefined
  const { sent, lease, done } = mail(() => new Promise((resolve) => (finish = resolve)))
  await makeDue(1)
  await until(() => sent.length === 1)
  lease.recall()
  await settled()
  finish('sent')
  await done
  t.deepEqual(await events(1), ['NoticeDue', 'NoticeSent'])
  await close()
})

test('a mail whose end can never be recorded is not sent again and again, but parked, and sent when somebody asks', async (t) => {
  let isMended = false
  const refusing = (store: EventStore): EventStore => ({
    ...store,
    append: (...args) =>
      !isMended && args[0] === `notice-${noticeId(1)}` && args[1] !== 'no-stream'
        ? Promise.resolve(E.left({ kind: 'corrupt', reason: 'it is refused' }))
        : store.append(...args),
  })
  const { makeDue, mail, until, state, parked, retry, close } = await openStage(refusing)
  t.teardown(close)
  const { sent } = mail(isSent)
  for (let n = 1; n <= 6; n += 1) await makeDue(n)
  await until(async () => (await state(6)).kind === 'over')
  await settled()
  t.is(sent.filter(({ to }) => to === 'member-1@example.com').length, 1)
  const stream = `notice-${noticeId(1)}`
  t.like(await parked(), [{ data: { process_manager: 'mailer', event_stream: stream, event_type: 'NoticeDue' } }])
  await retry(stream)
  await until(async () => (await parked()).at(-1)?.type === 'ParkedEventRetryFailed')
  t.is(sent.length, 7, 'it was tried before that was recorded')
  isMended = true
  await retry(stream)
  await until(async () => (await parked()).at(-1)?.type === 'ParkedEventHandled')
  t.is((await state(1)).kind, 'over')
  t.is(sent.length, 8)
})

test('an account that can not be read is parked once, and its notices are mailed once somebody has mended it', async (t) => {
  const stream = `account-${accountId()}`
  let isSpoiled = false
  const spoiled = (store: EventStore): EventStore => ({
    ...store,
    read: (of) =>
      isSpoiled && of === stream
        ? Promise.resolve(E.left({ kind: 'corrupt', reason: 'it is spoiled' }))
        : store.read(of),
  })
  const { makeDue, mail, until, state, parked, retry, close } = await openStage(spoiled)
  t.teardown(close)
  for (let n = 1; n <= 6; n += 1) await makeDue(n)
  isSpoiled = true
  const { sent } = mail(isSent)
  await until(async () => (await parked()).length === 1)
  await settled()
  await retry(stream)
  await until(async () => (await parked()).at(-1)?.type === 'ParkedEventRetryFailed')
  await settled()
  t.deepEqual(
    (await parked()).map(({ type }) => type),
    ['EventParked', 'ParkedEventRetryRequested', 'ParkedEventRetryFailed'],
  )
  t.is(sent.length, 0)
  isSpoiled = false
  await retry(stream)
  for (let n = 1; n <= 6; n += 1) await until(async () => (await state(n)).kind === 'over')
  t.is((await parked()).at(-1)?.type, 'ParkedEventHandled')
  t.is(sent.length, 6)
})

test('notices whose mailing throws each time are parked, and hold up no other', async (t) => {
  let isBroken = true
  const answer: Answer = ({ to }) =>
    isBroken && !/member-[67]@/.test(to)
      ? Promise.reject(new TypeError(`${to} is no address`))
      : Promise.resolve('sent')
  const { makeDue, mail, until, state, parked, retry, logged, close } = await openStage()
  t.teardown(close)
  for (let n = 1; n <= 7; n += 1) await makeDue(n)
  const { sent } = mail(answer)
  for (const n of [6, 7]) await until(async () => (await state(n)).kind === 'over')
  await until(async () => (await parked()).length === 5)
  const reasons = (await parked()).map(({ data }) => ('reason' in data ? data.reason : undefined))
  t.is(new Set(reasons).size, 1)
  t.regex(reasons[0] ?? '', /^an exception \(TypeError at projections\/notices\/[a-z-]+\.[jt]s:\d+\)$/)
  t.regex(logged(), /the mailing of a notice could not be recorded/)
  t.notRegex(logged(), /@example\.com/)
  await settled()
  t.is(sent.length, 5 * 5 + 2)

  isBroken = false
  await retry(`notice-${noticeId(1)}`)
  await until(async () => (await parked()).at(-1)?.type === 'ParkedEventHandled')
  t.is((await state(1)).kind, 'over')
})

test('what the mailer failed at is told of no longer than it has the lease', async (t) => {
  const { makeDue, mail, until, close } = await openStage()
  t.teardown(close)
  await makeDue(1)
  const { sent, lease, done, retrying } = mail(() => Promise.reject(new TypeError('never')))
  await until(() => sent.length === 2)
  t.regex(retrying() ?? '', /^an exception/)
  lease.recall()
  await done
  t.is(retrying(), undefined)
})

test('an event that the mailer can not decode keeps it from no later notice', async (t) => {
  let isMet = false
  const spoiled = (store: EventStore): EventStore => ({
    ...store,
    async *subscribe(after, categories, signal) {
      if (!isMet && categories.includes('parked')) {
        isMet = true
        const failure = { kind: 'corrupt', reason: 'it is spoiled' } as const
        const named = { id: uuid(1), type: 'unknown', stream: 'parked-1', revision: 0 }
        throw new UndecodableEvent({ ...named, position: after, failure })
      }
      yield* store.subscribe(after, categories, signal)
    },
  })
  const { makeDue, mail, until, state, close } = await openStage(spoiled)
  t.teardown(close)
  const { retrying } = mail(isSent)
  await until(() => isMet)
  await makeDue(1)
  await until(async () => (await state(1)).kind === 'over')
  t.is(retrying(), undefined)
})
