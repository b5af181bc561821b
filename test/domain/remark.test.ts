import test from 'ava'
import { fold } from '../../domain/decider.js'
import { remark, revisionOf, type Remark, type RemarkEvent } from '../../domain/remark.js'
import { accountId, contactId, engagementId, reportId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const ids = { engagementId: engagementId(), accountId: accountId(), contactId: contactId() }
const concerned = { engagement_id: engagementId(), account_id: accountId(), contact_id: contactId() }
const said: Remark = { note: 'Ten minutes', properties: { seconds: 600 } }

const make = (what: Remark = said) => ({ type: 'MakeRemark', ...ids, remark: what }) as const
const erase = { type: 'EraseRemarks', ...ids } as const
const made = (n?: number): RemarkEvent => ({
  type: 'RemarkMade',
  data: { ...concerned, ...said, ...(n === undefined ? {} : { report_id: reportId(n) }) },
})
const erased: RemarkEvent = { type: 'RemarksErased', data: concerned }

test('each remark is made, and a repeated activity report makes no second one', (t) => {
  given(t, remark).when(make()).then(made())
  given(t, remark, made()).when(make()).then(made())
  const report = { ...make(), reportId: reportId(1) }
  given(t, remark, made()).when(report).then(made(1))
  given(t, remark, made(), made(1), made()).when(report).isAlreadySo()
  given(t, remark, made(2)).when(report).then(made(1))
})

test('where a remark stands is told after it was made, and again when its activity report is repeated', (t) => {
  const state = fold(remark, remark.initial, [made(), made(1), made()])
  t.is(revisionOf(state, undefined), 2)
  t.is(revisionOf(state, reportId(1)), 1)
  t.is(revisionOf(fold(remark, state, [made(2)]), reportId(2)), 3)
})

test('a repeat of any of the newest hundred activity reports makes no second remark', (t) => {
  const all = Array.from({ length: 101 }, (_, n) => made(n + 1))
  given(t, remark, ...all)
    .when({ ...make(), reportId: reportId(2) })
    .isAlreadySo()
  t.is(fold(remark, remark.initial, all).reports.size, 100)
})

test('after an erasure, of which one event tells, no remark is taken any more', (t) => {
  for (const before of [[], [made(), made(1)]]) {
    given(t, remark, ...before)
      .when(erase)
      .then(erased)
    given(t, remark, ...before, erased)
      .when(erase)
      .isAlreadySo()
    given(t, remark, ...before, erased)
      .when({ ...make(), reportId: reportId(1) })
      .refuses('remarks-erased')
  }
  // What came before it may be gone.
  given(t, remark, erased).when(make()).refuses('remarks-erased')
})

test('note and properties have 32 kB of JSON together', (t) => {
  const note = 'x'.repeat(32 * 1024 - JSON.stringify({ note: '', properties: {} }).length)
  given(t, remark)
    .when(make({ note, properties: {} }))
    .then({ type: 'RemarkMade', data: { ...concerned, note, properties: {} } })
  given(t, remark)
    .when(make({ note: `${note}x`, properties: {} }))
    .refuses('activity-report-too-large')
})
