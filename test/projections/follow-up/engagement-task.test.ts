import test, { type ExecutionContext } from 'ava'
import { stepMessageIdOf } from '../../../domain/derived-id.js'
import { later } from '../../../domain/instant.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { accountId, at, engagementId, messageId, phone } from '../../kit/domain/samples.js'
import { waitedTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { neighbours, openFollowUpStage } from './stage.js'

const accepted = { kind: 'accepted', providerId: 'SM1' } as const
const failed = { kind: 'failed', reason: 'HTTP 503', retryAt: undefined } as const
const nextTry = at(60_000)

type Outcome = NonNullable<NonNullable<Parameters<typeof openFollowUpStage>[1]>['outcome']>

/** A contact whose first message is due. */
const openStage = async (t: ExecutionContext, outcome: Outcome = () => accepted) => {
  const stage = openFollowUpStage(t, { outcome })
  await stage.prepare()
  await stage.submit(1, 1, {})
  return stage
}

test('a step is decided, its message recorded before and after it is sent, and that is all', async (t) => {
  const stage = await openStage(t)
  t.is(await stage.runTask(1), 3, 'appends')
  t.is(await stage.runTask(1), 0, 'appends')
  t.deepEqual(stage.sent, [phone(1)])
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
})

test('an account that is disabled while a step of it is decided sends nothing, until it is enabled', async (t) => {
  let looks = 0
  let isDisabled = false
  const owner = () => {
    looks += 1
    isDisabled ||= looks === 2
    return { enabled: !isDisabled }
  }
  const stage = openFollowUpStage(t, { owner })
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [])
  t.deepEqual(stage.recorded(), ['StepBegun', 'StepPostponed'])
  isDisabled = false
  stage.toTime(at(6 * 60 * 60_000))
  await stage.runTask(1)
  t.deepEqual(stage.sent, [phone(1)])
})

const happenings = {
  'a sale ends the conversation': { type: 'EndEngagement', reason: 'conversion', at: at() },
  'a member takes over': { type: 'PauseEngagement', accountId: accountId(), until: at(24 * 60 * 60_000) },
} as const

for (const [what, command] of Object.entries(happenings)) {
  for (const category of ['engagement', 'message']) {
    test(`where ${what} while the store takes nothing in ${category} streams, the step that was decided before is not sent`, async (t) => {
      const stage = openFollowUpStage(t, { monotonic: waitedTime() })
      await stage.prepare()
      await stage.submit(1, 1, {})
      await stage.runTaskWhileAway(1, category, () => stage.executeOnEngagement(1, command))
      await stage.runTask(1)
      t.deepEqual(stage.sent, [])
    })
  }
}

test('where nothing changes while the store is away the step is sent, once', async (t) => {
  for (const category of ['engagement', 'message']) {
    const stage = openFollowUpStage(t, { monotonic: waitedTime() })
    await stage.prepare()
    await stage.submit(1, 1, {})
    await stage.runTaskWhileAway(1, category, () => Promise.resolve())
    t.deepEqual(stage.sent, [phone(1)])
    t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
  }
})

test('what a member writes is not sent where a sale ends the conversation while it is recorded that it is tried', async (t) => {
  const stage = openFollowUpStage(t)
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.write(1)
  const end = happenings['a sale ends the conversation']
  await stage.runTaskWhileAway(messageId(1), 'message', () => stage.executeOnEngagement(1, end))
  t.deepEqual(stage.sent, [])
  t.deepEqual(stage.recorded(), ['MessageRequested', 'MessageBegun', 'MessageAttemptFailed'])
})

test('what a member writes is not sent where the contact opts out, or its account is disabled, while it is recorded that it is tried', async (t) => {
  for (const change of ['opts out', 'is disabled']) {
    let isDisabled = false
    const stage = openFollowUpStage(t, { owner: () => ({ enabled: !isDisabled }) })
    await stage.prepare()
    await stage.submit(1, 1, {})
    await stage.write(1)
    await stage.runTaskWhileAway(messageId(1), 'message', async () => {
      if (change === 'opts out') await stage.optOut(1)
      isDisabled = change === 'is disabled'
    })
    t.deepEqual(stage.sent, [], change)
    t.deepEqual(stage.recorded(), ['MessageRequested', 'MessageBegun', 'MessageAttemptFailed'], change)
  }
})

test('the one message that tries a sender which is held goes out, also where the store was away', async (t) => {
  const stage = openFollowUpStage(t, { monotonic: waitedTime() })
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.report({ type: 'HoldSender', accountId: accountId(), reason: '30007', saidBy: 'answer', at: at() })
  stage.toTime(at(2 * 60 * 60_000))
  await stage.runTaskWhileAway(1, 'message', () => Promise.resolve())
  t.deepEqual(stage.sent, [phone(1)])
  t.is(stage.heldUp().at(-1)?.type, 'SenderReleased')
})

test('what a member writes goes out as the one message that tries a sender which is held', async (t) => {
  const stage = openFollowUpStage(t)
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.report({ type: 'HoldSender', accountId: accountId(), reason: '30007', saidBy: 'answer', at: at() })
  stage.toTime(at(2 * 60 * 60_000))
  await stage.write(1)
  await stage.sendRequested(1)
  t.deepEqual(stage.sent, [phone(1)])
  t.is(stage.heldUp().at(-1)?.type, 'SenderReleased')
})

test('a message is not held back by itself, however soon it is shown as begun: ten requests for help are answered in a day', async (t) => {
  const stage = openFollowUpStage(t, { isShownAtOnce: true })
  await stage.prepare()
  await stage.submit(1, 1, {})
  for (let n = 1; n <= 11; n += 1) {
    await stage.askForHelp(1, n)
    await stage.sendRequested(n)
  }
  t.is(stage.sent.length, 10)
  t.is(stage.recorded().at(-1), 'MessageFailed')
})

for (const dyingAt of [0, 1, 2]) {
  test(`a process that dies after ${dyingAt} of its records leaves a message that is sent once`, async (t) => {
    const stage = await openStage(t)
    await stage.runTask(1, dyingAt)
    await stage.runTask(1)
    await stage.runTask(1)
    t.deepEqual(stage.sent, [phone(1)])
    t.is(stage.recorded().filter((type) => type === 'MessageSent').length, 1)
  })
}

test('a provider that took a message and did not answer is asked, and the message is not sent again', async (t) => {
  const stage = await openStage(t, () => 'lost')
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [phone(1)])
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
})

for (const isErased of [false, true]) {
  const also = isErased ? ', also one that was erased here and not there yet' : ''
  test(`a provider that is asked for a message is told which others of its contact it has${also}`, async (t) => {
    const outcomes = [{ kind: 'accepted', providerId: 'SM7' } as const, 'lost' as const]
    const stage = openFollowUpStage(t, {
      outcome: () => outcomes.shift() ?? accepted,
      beforeErasingCopy: () => {
        throw new TypeError('an error in a rule')
      },
    })
    await stage.submit(1, 1, {})
    stage.work(1)
    const sent = () => stage.recorded().filter((type) => type === 'MessageSent').length
    await until('the first message', 30_000, () => sent() === 1)
    if (isErased) await stage.eraseMessage(1)
    await stage.submit(2, 1, {}, 1)
    await until('the message of the newer lead', 30_000, () => sent() === 2)
    t.deepEqual(stage.known, ['SM7'])
  })
}

test('a provider that is asked for a message is told which attempts of it were lost', async (t) => {
  const outcomes = [{ kind: 'accepted', providerId: 'SM7' } as const, 'lost' as const]
  const stage = await openStage(t, () => outcomes.shift() ?? accepted)
  await stage.runTask(1)
  await stage.reportLost(1, 'SM7', nextTry)
  stage.toTime(nextTry)
  await stage.runTask(1)
  t.deepEqual(stage.known, ['SM7'])
  t.is(stage.recorded().at(-1), 'MessageSent')
})

test('a provider that can not tell what became of a message is asked five times in 80 seconds', async (t) => {
  for (const end of ['accepted', 'unknown'] as const) {
    const monotonic = waitedTime()
    let times = 0
    const stage = openFollowUpStage(t, {
      outcome: () => 'lost',
      monotonic,
      settled: (asked) => {
        times = asked
        return asked === 5 && end === 'accepted' ? accepted : { kind: 'unknown' }
      },
    })
    await stage.prepare()
    await stage.submit(1, 1, {})
    await stage.runTask(1)
    t.is(times, 5, end)
    t.is(monotonic.now(), 80_000, end)
    t.is(stage.recorded().at(-1), end === 'accepted' ? 'MessageSent' : 'MessageFailed')
  }
})

test('who takes over at once from a process that died in an attempt gives the provider time to list what it took', async (t) => {
  const monotonic = waitedTime()
  const stage = openFollowUpStage(t, { monotonic, isListed: () => monotonic.now() >= 5_000 })
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.runTask(1, 2)
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
  t.deepEqual(stage.sent, [phone(1)])
})

test('what a provider could not take is tried again, as a step that is decided anew', async (t) => {
  const answers = [failed, accepted]
  const stage = await openStage(t, () => answers.shift() ?? accepted)
  await stage.runTask(1)
  await stage.runTask(1)
  t.is(stage.sent.length, 1, 'not before its time')
  stage.toTime(nextTry)
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), [
    ...['StepBegun', 'MessageBegun', 'MessageAttemptFailed'],
    ...['StepBegun', 'MessageTriedAgain', 'MessageSent'],
  ])
})

for (const [asks, retryAt, next] of [
  ['a later attempt is heeded', at(120_000), at(120_000)],
  ['a sooner one than the schedule has is not', at(1_000), nextTry],
] as const)
  test(`a provider that asks for ${asks}`, async (t) => {
    const answers = [{ ...failed, retryAt }, accepted]
    const stage = await openStage(t, () => answers.shift() ?? accepted)
    await stage.runTask(1)
    stage.toTime(later(next, -1))
    await stage.runTask(1)
    t.is(stage.sent.length, 1)
    stage.toTime(next)
    await stage.runTask(1)
    t.is(stage.sent.length, 2)
  })

test('a conversation that ended between two attempts is not written to any more', async (t) => {
  const stage = await openStage(t, () => failed)
  await stage.runTask(1)
  await stage.executeOnEngagement(1, { type: 'EndEngagement', reason: 'conversion', at: at(1) })
  stage.toTime(nextTry)
  await stage.runTask(1)
  t.is(stage.sent.length, 1)
})

test('a message that waits for its next attempt is withdrawn as soon as its engagement ends, and that of another goes on', async (t) => {
  const stage = await openStage(t, () => failed)
  await stage.submit(2, 2, {})
  await stage.runTask(1)
  await stage.runTask(2)
  stage.work(1)
  await stage.executeOnEngagement(1, { type: 'EndEngagement', reason: 'conversion', at: at(1) })
  await until('the message is withdrawn', 30_000, () => stage.recorded().includes('MessageFailed'))
  await stage.runTask(1)
  stage.toTime(nextTry)
  await stage.runTask(2)
  t.is(stage.recorded().filter((type) => type === 'MessageFailed').length, 1)
  t.deepEqual(stage.sent, [phone(1), phone(2), phone(2)])
})

test('a message that the provider has lost after the next step was begun is withdrawn when its engagement has ended', async (t) => {
  const stage = await openStage(t, () => ({ kind: 'accepted', providerId: 'SM1' }))
  await stage.runTask(1)
  const next = stepMessageIdOf(engagementId(1), 1)
  await stage.executeOnEngagement(1, { type: 'BeginStep', step: 1, attempt: 1, messageId: next, at: at(1) })
  await stage.reportLost(1, 'SM1', nextTry)
  await stage.executeOnEngagement(1, { type: 'EndEngagement', reason: 'conversion', at: at(2) })
  await stage.runTask(1)
  t.deepEqual(stage.recorded().slice(-3), ['StepBegun', 'MessageAttemptFailed', 'MessageFailed'])
})

test('what the provider took before its engagement ended is recorded as sent, also where the process died in between', async (t) => {
  const stage = await openStage(t)
  await stage.runTask(1, 2)
  await stage.executeOnEngagement(1, { type: 'EndEngagement', reason: 'conversion', at: at(1) })
  stage.work(1)
  await until('the message is settled', 30_000, () => stage.recorded().includes('MessageSent'))
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
  t.deepEqual(stage.sent, [phone(1)])
})

test('what cannot be sent for good ends the message, and nothing repeats it', async (t) => {
  const stage = await openStage(t, () => ({ kind: 'refused', reason: 'a code' }))
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageFailed'])
})

test('what a provider took while its message was being erased is known as a copy that it is to erase', async (t) => {
  const stage = await openStage(t, async () => {
    await stage.eraseMessage(1)
    return accepted
  })
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageErased', 'MessageCopyFound'])
})

test('a copy of which the provider tells after the erasure is erased there', async (t) => {
  const stage = openFollowUpStage(t, { outcome: () => accepted })
  await stage.submit(1, 1, {})
  stage.work(1)
  await until('the first message', 30_000, () => stage.recorded().includes('MessageSent'))
  await stage.eraseMessage(1)
  await until('the copy of the answer', 30_000, () => stage.erasedCopies.length === 1)
  await stage.reportTaken(1, 'SM2')
  await until('the copy of the report', 30_000, () => stage.erasedCopies.length === 2)
  t.deepEqual(stage.erasedCopies, ['SM1', 'SM2'])
})

test('a copy whose erasure throws each time is parked, and is erased once somebody asks for its retry', async (t) => {
  let isBroken = true
  const stage = openFollowUpStage(t, {
    outcome: () => accepted,
    beforeErasingCopy: () => {
      if (isBroken) throw new TypeError('an error in a rule')
    },
  })
  await stage.submit(1, 1, {})
  stage.work(1)
  await until('the first message', 30_000, () => stage.recorded().includes('MessageSent'))
  await stage.eraseMessage(1)
  await until('it is parked', 30_000, () => stage.parked().length === 1)
  await stage.truncateMessage(1)
  isBroken = false
  await stage.retryParked()
  await until('the copy is erased', 30_000, () => stage.erasedCopies.length === 1)
  await until('the end of the retry', 30_000, () => stage.parked().at(-1)?.type === 'ParkedEventHandled')
  t.is(stage.recorded().at(-1), 'MessageCopiesErased')
})

test('a process that dies when it has told a contact of its opt-out of the sender leaves a conversation that ends', async (t) => {
  const stage = openFollowUpStage(t, { isOptedOutOfSender: true })
  await stage.prepare()
  await stage.submit(1, 1, {})
  await stage.runTask(1, 1)
  await stage.runTask(1)
  await stage.react()
  t.deepEqual(stage.notes(), [
    ['started', 'The playbook started'],
    ['filtered', 'The contact opted out before'],
  ])
  t.deepEqual(stage.sent, [])
})

test('a newer lead takes over the messages of its contact', async (t) => {
  const stage = await openStage(t)
  await stage.submit(2, 1, {}, 1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [])
  t.deepEqual(stage.recorded(), ['StepsEnded'])
})

for (const dyingAt of [0, 1, Infinity]) {
  const what = dyingAt === Infinity ? '' : `, also where a process dies after ${dyingAt} of its records`
  test(`a message that waits for its next attempt is withdrawn when a newer lead ends its steps${what}`, async (t) => {
    const stage = await openStage(t, () => failed)
    await stage.runTask(1)
    await stage.submit(2, 1, {}, 1)
    stage.toTime(nextTry)
    await stage.runTask(1, dyingAt)
    await stage.runTask(1)
    t.is(stage.sent.length, 1)
    t.deepEqual(stage.recorded().slice(2), ['MessageAttemptFailed', 'MessageFailed', 'StepsEnded'])
    t.deepEqual(stage.notes(), [
      ['started', 'The playbook started'],
      ['started', 'The playbook started'],
    ])
  })
}

test('of two leads of one number in the same millisecond the newer one writes at once, whichever was engaged first, and the other never does', async (t) => {
  for (const [first, second] of [
    [1, 2],
    [2, 1],
  ] as const) {
    const stage = openFollowUpStage(t)
    await stage.prepare()
    await stage.submit(first, 1, {}, 1)
    await stage.submit(second, 1, {}, 1)
    await stage.runTask(1)
    await stage.runTask(2)
    t.deepEqual(stage.recorded(), ['StepsEnded', 'StepBegun', 'MessageBegun', 'MessageSent'])
  }
})

test('a newer lead whose conversation a crash kept from beginning holds up the older one', async (t) => {
  const stage = await openStage(t)
  await stage.submit(2, 1, {}, 1, at(), false)
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['StepPostponed'])
  await stage.react()
  stage.toTime(at(60_000))
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['StepPostponed', 'StepsEnded'])
  t.deepEqual(stage.sent, [])
})

test('a newer lead of a playbook without steps takes over, though nobody may ever ask for its consent', async (t) => {
  const stage = await openStage(t)
  await stage.submit(2, 1, 'without steps', 1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [])
  t.deepEqual(stage.recorded(), ['StepsEnded'])
})

test('a newer lead that was filtered leaves the messages of the older one as they are', async (t) => {
  const stage = await openStage(t)
  await stage.submit(2, 1, { consent: 'refused' }, 1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [phone(1)])
  t.deepEqual(stage.recorded(), ['StepBegun', 'MessageBegun', 'MessageSent'])
})

test('a newer lead takes over the messages of its contact, also where the newest was filtered', async (t) => {
  const stage = await openStage(t)
  await stage.submit(2, 1, {}, 1)
  await stage.submit(3, 1, {}, 1)
  await stage.executeOnEngagement(3, { type: 'GiveUp', trigger: 'consent-refused', at: at() })
  await stage.runTask(1)
  await stage.runTask(2)
  t.deepEqual(stage.recorded(), ['StepsEnded', 'StepBegun', 'MessageBegun', 'MessageSent'])
})

test('a task that fails again and again leaves few lines in the log, and is taken when that is over', async (t) => {
  let failures = 0
  const stage = openFollowUpStage(t, {
    lookUpHold: () => {
      failures += 1
      if (failures <= 100) throw new StoreFailed({ kind: 'unavailable', reason: 'the store does not answer' })
    },
  })
  const number = await stage.submit(1, 1, {})
  stage.work(1)
  await until('the message', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
  const told = stage.logger.lines.filter(({ message: line }) => line === 'a task could not be recorded')
  t.is(told.length, 7, 'at the 1st, 2nd, 4th and so on')
})

test('what can not be read of an account is parked once and puts off that account alone, which goes on by itself', async (t) => {
  let isUnreadable = true
  const unreadable = (stream: string): boolean => isUnreadable && stream === `account-${accountId(2)}`
  const stage = openFollowUpStage(t, { unreadable })
  const [one, two, three, other] = neighbours(4)
  for (const n of [one, two, three]) await stage.submit(n ?? 0, 2, {})
  stage.work(one ?? 0)
  const types = () => stage.recorded().join()
  await until('they are put off', 30_000, () => types() === 'StepPostponed,StepPostponed,StepPostponed')
  const number = await stage.submit(other ?? 0, 1, {})
  await until('the message of the other account', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
  t.like(stage.parked(), [{ type: 'EventParked', data: { event_stream: `account-${accountId(2)}` } }])

  isUnreadable = false
  await stage.retryParked()
  await until('the retry is answered', 30_000, () => stage.parked().at(-1)?.type === 'ParkedEventHandled')
  stage.passTo(at(61 * 60_000))
  await until('the messages of the account', 30_000, () => stage.sent.length === 4)
  t.pass()
})

test('what can not be read is parked also by whoever is about to give its lease back', async (t) => {
  let recall = (): void => undefined
  const unreadable = (stream: string): boolean => {
    if (stream !== `account-${accountId(2)}`) return false
    recall()
    return true
  }
  const stage = openFollowUpStage(t, { unreadable })
  await stage.submit(1, 2, {})
  const worker = stage.work(1)
  recall = worker.recall
  await worker.working
  t.like(stage.parked(), [{ type: 'EventParked', data: { event_stream: `account-${accountId(2)}` } }])
  t.deepEqual(stage.recorded(), ['StepPostponed'])
  t.false(stage.logger.lines.some(({ message }) => message === 'a task could not be recorded'))
})

test('a task that throws each time is parked, and holds up no other', async (t) => {
  const [bad, good] = neighbours(2)
  let looks = 0
  const stage = openFollowUpStage(t, {
    lookUpHold: (account) => {
      if (account !== accountId(2)) return
      looks += 1
      throw new TypeError(`${phone(2)} is no number`)
    },
  })
  await stage.submit(bad ?? 0, 2, {})
  stage.work(bad ?? 0)
  await until('it is parked', 30_000, () => stage.parked().length === 1)
  const [parked] = stage.parked()
  t.regex(parked?.type === 'EventParked' ? parked.data.reason : '', /^an exception \(TypeError at projections\//)
  t.true(stage.logger.lines.some(({ message }) => message === 'a task could not be recorded'))
  t.false(JSON.stringify([stage.logger.lines, parked?.data]).includes(phone(2)))
  const before = looks
  await stage.submit(good ?? 0, 1, {})
  await until('the message of the other account', 30_000, () => stage.sent.length === 1)
  t.is(looks, before, 'it is not tried again')
})

test('while a store is away for a task health tells of it, until the task is over', async (t) => {
  let isAway = true
  const stage = openFollowUpStage(t, {
    lookUpHold: () => {
      if (isAway) throw new StoreFailed({ kind: 'unavailable', reason: 'away' })
    },
  })
  await stage.submit(1, 1, {})
  stage.work(1)
  await until('the task fails', 30_000, () => stage.retrying() !== undefined)
  t.is(stage.retrying(), 'away')
  isAway = false
  await until('the message', 30_000, () => stage.sent.length === 1 && stage.retrying() === undefined)
  t.deepEqual(stage.parked(), [])
})

test('what fails again when somebody asked for its retry stays parked, be it a step or what a member wrote', async (t) => {
  const stage = openFollowUpStage(t, {
    lookUpHold: () => {
      throw new TypeError()
    },
  })
  const parked = (type: string): number => stage.parked().filter((event) => event.type === type).length
  await stage.submit(1, 1, {})
  await stage.write(1)
  stage.work(1)
  await until('both are parked', 30_000, () => parked('EventParked') === 2)
  await stage.retryParked()
  await until('both retries have failed', 30_000, () => parked('ParkedEventRetryFailed') === 2)
  t.is(parked('ParkedEventHandled'), 0)
  t.is(parked('EventParked'), 2)
})

test('a store that was away before a task throws does not count: five exceptions in a row park it', async (t) => {
  let looks = 0
  const stage = openFollowUpStage(t, {
    lookUpHold: () => {
      looks += 1
      if (looks <= 10) throw new StoreFailed({ kind: 'unavailable', reason: 'away' })
      throw new TypeError('an error in a rule')
    },
  })
  await stage.submit(1, 1, {})
  stage.work(1)
  await until('it is parked', 30_000, () => stage.parked().length === 1)
  t.is(looks, 15)
})

test('a conversation that waits only for its end, which its account can not be read for, ends once it is tried again', async (t) => {
  let isUnreadable = true
  const unreadable = (stream: string): boolean => isUnreadable && stream === `account-${accountId(2)}`
  const stage = openFollowUpStage(t, { unreadable })
  await stage.submit(1, 2, {})
  await stage.executeOnEngagement(1, { type: 'EndSteps', givesUpAt: at(1_000) })
  stage.work(1)
  stage.toTime(at(60_000))
  await stage.submit(neighbours(2)[1] ?? 0, 1, {})
  const parkedOf = (stream: string) =>
    stage.parked().filter(({ data }) => 'event_stream' in data && data.event_stream === stream)
  const own = `engagement-${engagementId(1)}`
  await until('it is parked', 30_000, () => parkedOf(own).length === 1)
  isUnreadable = false
  await stage.retryParked()
  await until('its end', 30_000, () => stage.notes().some(([label]) => label === 'dormant'))
  t.is(stage.parked().at(-1)?.type, 'ParkedEventHandled')
})
