import test from 'ava'
import { sendingHold, holdCommandFor, type SendingHoldEvent } from '../../domain/sending-hold.js'
import { accountId, at } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const minute = 60_000
const reason = 'the carrier filters this sender'
const ids = { account_id: accountId() }
const hold = { type: 'HoldSender', accountId: accountId(), reason, saidBy: 'answer' } as const
const held = (since: number, until: number, said_by: 'answer' | 'report' = 'answer'): SendingHoldEvent => ({
  type: 'SenderHeld',
  data: { ...ids, since: at(since), until: at(until), reason, said_by },
})
const released = (n: number): SendingHoldEvent => ({ type: 'SenderReleased', data: { ...ids, at: at(n) } })

test('a sender that a provider blocks is held for a quarter of an hour', (t) => {
  given(t, sendingHold)
    .when({ ...hold, at: at() })
    .then(held(0, 15 * minute))
})

test('further refusals say nothing new', (t) => {
  given(t, sendingHold, held(0, 15 * minute))
    .when({ ...hold, at: at(1) })
    .isAlreadySo()
})

test('once it is time one message may try it, and the others wait on: as long again, an hour at most', (t) => {
  const probe = { type: 'ProbeSender', accountId: accountId() } as const
  given(t, sendingHold, held(0, 15 * minute))
    .when({ ...probe, at: at(15 * minute - 1) })
    .isAlreadySo()
  given(t, sendingHold, held(0, 15 * minute))
    .when({ ...probe, at: at(20 * minute) })
    .then(held(0, 40 * minute))
  given(t, sendingHold, held(0, 15 * minute), held(0, 40 * minute))
    .when({ ...probe, at: at(30 * minute) })
    .isAlreadySo()
  given(t, sendingHold, held(0, 300 * minute))
    .when({ ...probe, at: at(300 * minute) })
    .then(held(0, 360 * minute))
})

test('it is released once a message gets through; one that is only taken does not tell where reports told of the trouble', (t) => {
  const release = { type: 'ReleaseSender', accountId: accountId(), at: at(7) } as const
  given(t, sendingHold, held(0, 15 * minute))
    .when({ ...release, saidBy: 'answer' })
    .then(released(7))
  given(t, sendingHold, held(0, 15 * minute, 'report'))
    .when({ ...release, saidBy: 'answer' })
    .isAlreadySo()
  for (const saidBy of ['report', 'operator'] as const)
    given(t, sendingHold, held(0, 15 * minute, 'report'))
      .when({ ...release, saidBy })
      .then(released(7))
  given(t, sendingHold)
    .when({ ...release, saidBy: 'report' })
    .isAlreadySo()
})

test('trouble that comes again within a day is the same', (t) => {
  const day = 24 * 60 * minute
  given(t, sendingHold, held(0, 15 * minute), released(minute))
    .when({ ...hold, at: at(day) })
    .then(held(0, day + 60 * minute))
  given(t, sendingHold, held(0, 15 * minute), released(minute))
    .when({ ...hold, at: at(day + minute) })
    .then(held(day + minute, day + 16 * minute))
})

test('a limit is reached once a month, and once more where it has been changed', (t) => {
  const reach = { type: 'ReachSegmentLimit', accountId: accountId(), month: '2026-01', segmentsPerMonth: 10 } as const
  const reached: SendingHoldEvent = {
    type: 'SegmentLimitReached',
    data: { ...ids, month: '2026-01', segments_per_month: 10 },
  }
  given(t, sendingHold).when(reach).then(reached)
  given(t, sendingHold, reached).when(reach).isAlreadySo()
  given(t, sendingHold, reached)
    .when({ ...reach, segmentsPerMonth: 20 })
    .then({ type: 'SegmentLimitReached', data: { ...ids, month: '2026-01', segments_per_month: 20 } })
  given(t, sendingHold, reached)
    .when({ ...reach, month: '2026-02' })
    .then({ type: 'SegmentLimitReached', data: { ...ids, month: '2026-02', segments_per_month: 10 } })
})

test('what a provider says of an attempt tells of the sender too', (t) => {
  const tried = { accountId: accountId(), saidBy: 'answer', at: at() } as const
  const blocked = { kind: 'sender-blocked', reason } as const
  const accepted = { kind: 'accepted', providerId: undefined } as const
  t.deepEqual(holdCommandFor(blocked, tried), { type: 'HoldSender', reason, ...tried })
  t.deepEqual(holdCommandFor(accepted, tried), { type: 'ReleaseSender', ...tried })
  const delivered = { kind: 'delivered', providerId: 'SM1' } as const
  const reported = { ...tried, saidBy: 'report' } as const
  t.deepEqual(holdCommandFor(delivered, reported), { type: 'ReleaseSender', ...reported })
  for (const kind of ['unreached', 'refused', 'unknown'] as const)
    t.is(holdCommandFor({ kind, reason }, tried), undefined, kind)
})
