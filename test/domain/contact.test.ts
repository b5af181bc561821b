import test from 'ava'
import {
  contact,
  hasOptedIn,
  mostOptChanges,
  type ContactCommand,
  type ContactEvent,
  type OptChange,
} from '../../domain/contact.js'
import type { Saying } from '../../domain/saying.js'
import { fold } from '../../domain/decider.js'
import type { EngagementId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import type { LeadDetails } from '../../domain/lead.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  details,
  engagementId,
  erasureId,
  leadId,
  messageIds,
  phone,
  playbookId,
  recordId,
  sourceId,
} from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'
import { rightOf } from '../kit/right-of.js'

type Submitted = { readonly details?: LeadDetails; readonly submittedAt?: Instant }

const engageLead = (
  n: number,
  submitted: Submitted = {},
): Extract<ContactCommand, { readonly type: 'EngageLead' }> => ({
  type: 'EngageLead',
  contactId: contactId(),
  accountId: accountId(),
  leadId: leadId(n),
  sourceId: sourceId(n),
  sourceTitle: `Source ${n}`,
  playbookId: playbookId(n),
  engagementId: engagementId(n),
  details: details(),
  submittedAt: at(n * 1000),
  ...submitted,
})

const created: ContactEvent = {
  type: 'ContactCreated',
  data: {
    contact_id: contactId(),
    account_id: accountId(),
    details: details(),
    referral: { marketing_source_id: sourceId(1), marketing_source_title: 'Source 1', lead_id: leadId(1) },
  },
}

const engaged = (
  n: number,
  when: {
    readonly submittedAt?: Instant
    readonly engagedAt?: Instant
    readonly filtered?: boolean
    readonly supersedes?: ReadonlyArray<EngagementId>
  } = {},
): ContactEvent => ({
  type: 'ContactEngaged',
  data: {
    contact_id: contactId(),
    account_id: accountId(),
    lead_id: leadId(n),
    source_id: sourceId(n),
    playbook_id: playbookId(n),
    engagement_id: engagementId(n),
    submitted_at: when.submittedAt ?? at(n * 1000),
    engaged_at: when.engagedAt ?? at(n * 1000),
    filtered: when.filtered ?? false,
    ...(when.supersedes === undefined ? {} : { supersedes: when.supersedes }),
  },
})

const changed = (n: number, to: LeadDetails): ContactEvent => ({
  type: 'ContactDetailsChanged',
  data: { lead_id: leadId(n), details: to },
})

const optedOut: ContactEvent = { type: 'ContactOptedOut', data: { engagement_id: engagementId(1) } }

const optedIn: ContactEvent = { type: 'ContactOptedIn', data: { engagement_id: engagementId(1) } }

const known = [created, engaged(1)] as const

test('the first lead of a phone number makes the contact, with that lead as its referral', (t) => {
  given(t, contact).when(engageLead(1)).then(created, engaged(1))
})

test('the same lead again changes nothing', (t) => {
  given(t, contact, ...known)
    .when(engageLead(1))
    .isAlreadySo()
  given(t, contact, ...known, engaged(2))
    .when(engageLead(1))
    .isAlreadySo()
})

test('a lead that names the state it lives in is engaged with it, and any other text there goes no further', (t) => {
  const living = (text: string) => details({ additional_info: { current_residence_state: text } })
  const states = { CA: 'CA', ' ca ': 'CA', California: undefined, ZZ: undefined }
  for (const [text, state] of Object.entries(states)) {
    const lead = engaged(1)
    given(t, contact)
      .when(engageLead(1, { details: living(text) }))
      .then({ ...created, data: { ...created.data, details: living(text) } }, {
        ...lead,
        data: { ...lead.data, ...(state === undefined ? {} : { state }) },
      } as ContactEvent)
  }
})

test('another lead with the same details only engages', (t) => {
  given(t, contact, ...known)
    .when(engageLead(2))
    .then(engaged(2))
})

test('a newer lead brings its details', (t) => {
  const moved = details({ email: 'ada@new.example', additional_info: { gender: 'Female' } })
  given(t, contact, ...known)
    .when(engageLead(2, { details: moved }))
    .then(changed(2, moved), engaged(2))
})

test('what a newer lead does not send stays as it was', (t) => {
  const rich = details({ additional_info: { gender: 'Female', zip: '94016' } })
  const sparse = details({ first_name: '', last_name: '', email: '', additional_info: { zip: '10001' } })
  given(t, contact, ...known, changed(2, rich), engaged(2))
    .when(engageLead(3, { details: sparse }))
    .then(changed(3, details({ additional_info: { gender: 'Female', zip: '10001' } })), engaged(3))
})

test('the number of a contact never changes', (t) => {
  given(t, contact, ...known)
    .when(engageLead(2, { details: details({ phone: phone(2) }) }))
    .then(engaged(2))
})

test('an older lead that arrives late engages and leaves the newer details', (t) => {
  const late = { details: details({ first_name: 'Old' }), submittedAt: at(500) }
  given(t, contact, ...known)
    .when(engageLead(2, late))
    .then(engaged(2, { submittedAt: at(500), engagedAt: at(1001) }))
})

test('an older lead does not make the next one look new', (t) => {
  const oldest = engaged(2, { submittedAt: at(100), engagedAt: at(2000) })
  const older = { details: details({ first_name: 'Older' }), submittedAt: at(500) }
  given(t, contact, ...known, oldest)
    .when(engageLead(3, older))
    .then(engaged(3, { submittedAt: at(500), engagedAt: at(2001) }))
})

test('of two leads of one millisecond the one with the greater id is the newer', (t) => {
  const other = details({ first_name: 'Other' })
  const sameTime = { details: other, submittedAt: at(5000) }
  given(t, contact, created, engaged(5))
    .when(engageLead(6, sameTime))
    .then(changed(6, other), engaged(6, { submittedAt: at(5000), engagedAt: at(5001) }))
  given(t, contact, created, engaged(5))
    .when(engageLead(4, sameTime))
    .then(engaged(4, { submittedAt: at(5000), engagedAt: at(5001) }))
})

test('two leads in the same millisecond, or a clock that goes back, still engage at distinct times', (t) => {
  given(t, contact, ...known)
    .when(engageLead(2, { submittedAt: at(1000) }))
    .then(engaged(2, { submittedAt: at(1000), engagedAt: at(1001) }))
  given(t, contact, ...known)
    .when(engageLead(2, { submittedAt: at(0) }))
    .then(engaged(2, { submittedAt: at(0), engagedAt: at(1001) }))
})

test('a lead of a contact that opted out is accepted and filtered', (t) => {
  given(t, contact, ...known, optedOut)
    .when(engageLead(2))
    .then(engaged(2, { filtered: true }))
})

/** Said in the text, or the report, of this number. */
const saying = (text: number, when = text * 1_000): Saying => ({ event_id: `text ${text}`, at: at(when) })

const optOut = (n: number, one = saying(5)): ContactCommand => ({
  type: 'OptOut',
  engagementId: engagementId(n),
  saying: one,
})

const optIn = (n: number, one: Saying): ContactCommand => ({
  type: 'OptIn',
  engagementId: engagementId(n),
  saying: one,
})

const saidOut = (said: Saying, ...ended: ReadonlyArray<number>): ContactEvent => ({
  type: 'ContactOptedOut',
  data: { engagement_id: engagementId(2), ...(ended.length === 0 ? {} : { ended: ended.map(engagementId) }), said },
})

const saidIn = (said: Saying): ContactEvent => ({
  type: 'ContactOptedIn',
  data: { engagement_id: engagementId(2), said },
})

test('an opt-out ends all that is open, and one who opts in again may be written to', (t) => {
  given(t, contact, ...known, engaged(2))
    .when(optOut(2))
    .then(saidOut(saying(5), 1, 2))
  given(t, contact, ...known, engaged(2), saidOut(saying(5), 1, 2))
    .when(optIn(2, saying(6)))
    .then(saidIn(saying(6)))
  given(t, contact, ...known, engaged(2), saidOut(saying(5), 1, 2), saidIn(saying(6)))
    .when(engageLead(3))
    .then(engaged(3))
})

test('of what was said to a sender that counts which was said last, whatever is heard last, and an opt-out ends what was open', (t) => {
  const toSender = (text: number): Saying => ({ ...saying(text), to_sender: true })
  const both = [...known, engaged(2)]
  const takenBack: ContactEvent = { type: 'ContactOptedIn', data: { engagement_id: engagementId(2) } }
  const late = [saidOut(toSender(5), 1, 2), takenBack] as const
  given(t, contact, ...both, saidIn(toSender(6)))
    .when(optOut(2, toSender(5)))
    .then(...late)
  given(t, contact, ...both, saidIn(toSender(6)), ...late)
    .when(optOut(2, toSender(5)))
    .isAlreadySo()
  given(t, contact, ...both, saidOut(toSender(6), 1, 2))
    .when(optIn(2, toSender(5)))
    .isAlreadySo()
  // The clocks of two processes differ: a report may seem to be older than it is.
  given(t, contact, ...both, saidIn(toSender(6)))
    .when(optOut(2, saying(5)))
    .then(saidOut(saying(5), 1, 2))
})

test('one who opted out of a sender before opts out once', (t) => {
  const optOutOfSender: ContactCommand = { type: 'OptOut', engagementId: engagementId(1) }
  const out: ContactEvent = {
    type: 'ContactOptedOut',
    data: { engagement_id: engagementId(1), ended: [engagementId(1)] },
  }
  given(t, contact, ...known)
    .when(optOutOfSender)
    .then(out)
  given(t, contact, ...known, out)
    .when(optOutOfSender)
    .isAlreadySo()
})

test('what a contact said says nothing when it comes again, whatever it said since', (t) => {
  const outTwice = [...known, engaged(2), saidOut(saying(5), 1, 2), saidOut(saying(6))]
  given(t, contact, ...known, engaged(2), saidOut(saying(5), 1, 2))
    .when(optOut(2, saying(6)))
    .then(saidOut(saying(6)))
  const backTwice = [...outTwice, saidIn(saying(7)), saidIn(saying(8)), engaged(3)]
  given(t, contact, ...outTwice, saidIn(saying(7)))
    .when(optIn(2, saying(8)))
    .then(saidIn(saying(8)))
  const outAgain = [...backTwice, saidOut(saying(9), 3)]
  for (const again of [optOut(2, saying(5)), optOut(2, saying(6)), optIn(2, saying(7)), optIn(2, saying(8))]) {
    given(t, contact, ...backTwice)
      .when(again)
      .isAlreadySo()
    given(t, contact, ...outAgain)
      .when(again)
      .isAlreadySo()
  }
})

test('an opt-out counts whenever it came: the clock of the process that heard it may be behind', (t) => {
  const [back, out] = [saying(6), saying(7, 6_000)]
  const backAgain = [...known, engaged(2), saidOut(saying(5), 1, 2), saidIn(back), engaged(3)]
  given(t, contact, ...backAgain)
    .when(optOut(2, out))
    .then(saidOut(out, 3))
  given(t, contact, ...backAgain, saidOut(out, 3))
    .when(optIn(2, back))
    .isAlreadySo()
})

test('an opt-in that was said before an opt-out and is heard after it does not take it back', (t) => {
  given(t, contact, ...known, engaged(2), saidOut(saying(5), 1, 2))
    .when(optIn(2, saying(4)))
    .isAlreadySo()
})

test('a conversion is marked once a record', (t) => {
  const mark = (n: number): ContactCommand => ({
    type: 'MarkConverted',
    recordId: recordId(n),
    conversionId: conversionId(n),
    ended: [engagementId(1)],
  })
  const converted = (n: number): ContactEvent => ({
    type: 'ContactConverted',
    data: { record_id: recordId(n), conversion_id: conversionId(n), ended: [engagementId(1)] },
  })
  given(t, contact, ...known)
    .when(mark(1))
    .then(converted(1))
  given(t, contact, ...known, converted(1))
    .when(mark(1))
    .isAlreadySo()
  given(t, contact, ...known, converted(1))
    .when(mark(2))
    .then(converted(2))
})

test('an unknown contact neither converts nor opts out', (t) => {
  given(t, contact).when(optOut(1)).refuses('contact-not-found')
  given(t, contact)
    .when({ type: 'MarkConverted', recordId: recordId(1), conversionId: conversionId(1), ended: [] })
    .refuses('contact-not-found')
})

test('a contact knows its newest conversation and those that no conversion has ended', (t) => {
  const converted: ContactEvent = {
    type: 'ContactConverted',
    data: { record_id: recordId(1), conversion_id: conversionId(1), ended: [engagementId(1), engagementId(9)] },
  }
  const state = fold(contact, contact.initial, [...known, engaged(2), converted, engaged(3)])
  t.is(state.kind, 'known')
  if (state.kind !== 'known') return
  const newest = { leadId: leadId(3), submittedAt: at(3000), sourceId: sourceId(3), engagementId: engagementId(3) }
  t.deepEqual(state.newest, newest)
  t.deepEqual(state.unconverted, [engagementId(2), engagementId(3)])
  t.deepEqual(state.records, [recordId(1)])
})

/** The events of so many leads, one after the other. */
const afterLeads = (count: number): ReadonlyArray<ContactEvent> => {
  const events: Array<ContactEvent> = []
  let state = contact.initial
  for (let n = 1; n <= count; n += 1) {
    const decided = rightOf(contact.decide(engageLead(n), state))
    events.push(...decided)
    state = fold(contact, state, decided)
  }
  return events
}

test('a hundred engagements are open at most: one more ends the oldest', (t) => {
  given(t, contact, ...afterLeads(99))
    .when(engageLead(100))
    .then(engaged(100))
  given(t, contact, ...afterLeads(100))
    .when(engageLead(101))
    .then(engaged(101, { supersedes: [engagementId(1)] }))
  given(t, contact, ...afterLeads(101))
    .when(engageLead(102))
    .then(engaged(102, { supersedes: [engagementId(2)] }))
})

test('where more are open, since there was no limit yet, each lead ends a hundred of them until there are not', (t) => {
  const old = Array.from({ length: 250 }, (_, n) => engaged(n + 1))
  const open = old.map(({ data }) => (data as { readonly engagement_id: EngagementId }).engagement_id)
  const [next, afterNext] = [
    engaged(251, { supersedes: open.slice(0, 100) }),
    engaged(252, { supersedes: open.slice(100, 152) }),
  ]
  given(t, contact, created, ...old)
    .when(engageLead(251))
    .then(next)
  given(t, contact, created, ...old, next)
    .when(engageLead(252))
    .then(afterNext)
})

test('what is known of a contact does not grow with its leads', (t) => {
  const size = (leads: number): number => JSON.stringify(fold(contact, contact.initial, afterLeads(leads))).length
  t.is(size(2_000), size(200))
})

test('a lead that the contact may not remember is engaged only once its own stream was asked', (t) => {
  const many = afterLeads(150)
  given(t, contact, ...many)
    .when(engageLead(51))
    .isAlreadySo()
  given(t, contact, ...many)
    .when(engageLead(50))
    .refuses('lead-not-remembered')
  const late = engageLead(200, { submittedAt: at(50_000) })
  given(t, contact, ...many)
    .when(late)
    .refuses('lead-not-remembered')
  given(t, contact, ...many)
    .when({ ...late, isNotEngaged: true })
    .then(engaged(200, { submittedAt: at(50_000), engagedAt: at(150_001), supersedes: [engagementId(51)] }))
})

test('of the leads that a contact does not remember any more the one that was submitted last counts', (t) => {
  // The clock of the process that took the first one was ahead.
  const ahead = { submittedAt: at(900_000) }
  const others = Array.from({ length: 101 }, (_, n) => engaged(n + 2))
  given(t, contact, created, engaged(1, ahead), ...others)
    .when(engageLead(1, ahead))
    .refuses('lead-not-remembered')
})

test('what these events make of a contact is version 4 of its snapshot: what differs from it needs another version', (t) => {
  const converted: ContactEvent = {
    type: 'ContactConverted',
    data: { record_id: recordId(1), conversion_id: conversionId(1), ended: [engagementId(1)] },
  }
  const numbers = { contact_id: contactId(), account_id: accountId() }
  const state = fold(contact, contact.initial, [
    { type: 'NumberOptedIn', data: { ...numbers, said_at: at(1) } },
    ...known,
    engaged(2),
    converted,
    changed(2, details()),
    optedIn,
    optedOut,
  ])
  t.is(contact.snapshot?.version, 4)
  t.deepEqual(JSON.parse(JSON.stringify(state)), {
    kind: 'known',
    accountId: accountId(),
    optedOut: true,
    details: details(),
    byAge: [],
    newest: { leadId: leadId(2), submittedAt: at(2000), sourceId: sourceId(2), engagementId: engagementId(2) },
    leads: [
      { leadId: leadId(1), submittedAt: at(1000) },
      { leadId: leadId(2), submittedAt: at(2000) },
    ],
    lastEngagedAt: at(2000),
    unconverted: [engagementId(2)],
    records: [recordId(1)],
    optedInAt: at(1),
    hasOptedIn: true,
  })
})

const erased = (opted_out = false, opt_history: ReadonlyArray<OptChange> = []): ContactEvent => ({
  type: 'ContactErased',
  data: { contact_id: contactId(), account_id: accountId(), erasure_id: erasureId(), opted_out, opt_history },
})
const erase = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId(), optHistory: [] } as const
const optedOutIn = (n: number): ContactEvent => ({ type: 'ContactOptedOut', data: { engagement_id: engagementId(n) } })

test('who opts in before a contact has begun, or after, has opted in since that which was erased', (t) => {
  const numbers = { contact_id: contactId(), account_id: accountId() }
  const numberOptedIn: ContactEvent = { type: 'NumberOptedIn', data: numbers }
  const optIn = { type: 'OptInNumber', contactId: contactId(), accountId: accountId() } as const
  given(t, contact).when(optIn).then()
  given(t, contact)
    .when({ ...optIn, optedOutBefore: true })
    .then(numberOptedIn)
  for (const history of [
    [numberOptedIn],
    [numberOptedIn, ...known],
    [...known, optedIn],
    [...known, optedOut, optedIn],
  ])
    t.true(hasOptedIn(fold(contact, contact.initial, history)))
  for (const history of [[], [...known], [...known, optedOut]])
    t.false(hasOptedIn(fold(contact, contact.initial, history)))
})

test('an erasure leaves of a contact whose it was, and whether it had opted out', (t) => {
  given(t, contact, created, engaged(1)).when(erase).then(erased(false))
  given(t, contact, created, engaged(1), optedOutIn(1)).when(erase).then(erased(true))
})

test('an erasure leaves when a contact opted out and in, the first of it', (t) => {
  const optHistory = Array.from({ length: mostOptChanges + 1 }, (_, n): OptChange => ({
    meaning: n % 2 === 0 ? 'opted_out' : 'opted_in',
    at: at(n),
  }))
  given(t, contact, created, engaged(1), optedOutIn(1))
    .when({ ...erase, optHistory })
    .then(erased(true, optHistory.slice(0, mostOptChanges)))
})

test('a contact is erased once, also where nothing stands before its erasure any more', (t) => {
  given(t, contact, created, engaged(1), erased()).when(erase).isAlreadySo()
  given(t, contact, erased()).when(erase).isAlreadySo()
})

test('a lead that comes while its contact is erased does not join it', (t) => {
  const refused: ContactEvent = {
    type: 'LateLeadRefused',
    data: { contact_id: contactId(), lead_id: leadId(2), erasure_id: erasureId() },
  }
  given(t, contact, erased()).when(engageLead(2)).then(refused)
  given(t, contact, erased(), refused).when(engageLead(2)).isAlreadySo()
})

test('a text that comes while its contact is erased is refused once, and one of a known contact never', (t) => {
  const note: ContactCommand = { type: 'NoteMessage', ids: messageIds }
  const refused: ContactEvent = { type: 'LateMessageRefused', data: { ...messageIds, erasure_id: erasureId() } }
  given(t, contact, created, engaged(1)).when(note).isAlreadySo()
  given(t, contact, erased()).when(note).then(refused)
  given(t, contact, erased(), refused).when(note).isAlreadySo()
})

test('an opt-out that comes while its contact is erased counts', (t) => {
  given(t, contact, erased())
    .when(optOut(2))
    .then(saidOut(saying(5)))
  const state = fold(contact, contact.initial, [erased(), saidOut(saying(5))])
  t.deepEqual(state, { kind: 'erased', accountId: accountId(), erasureId: erasureId(), optedOut: true, lateLeads: [] })
})

test('a conversion of a contact that was erased meanwhile changes nothing', (t) => {
  const convert = { type: 'MarkConverted', recordId: recordId(1), conversionId: conversionId(1), ended: [] } as const
  given(t, contact, erased()).when(convert).isAlreadySo()
})

test('a number that opted out before its contact was erased is filtered from its first lead on', (t) => {
  given(t, contact)
    .when({ ...engageLead(1), optedOutBefore: true })
    .then(created, optedOutIn(1), engaged(1, { filtered: true }))
})

test('an opt-out that reached an erased contact late counts for the one that began before', (t) => {
  given(t, contact, created, engaged(1))
    .when({ ...engageLead(2), optedOutBefore: true })
    .then(
      { type: 'ContactOptedOut', data: { engagement_id: engagementId(2), ended: [engagementId(1)] } },
      engaged(2, { filtered: true }),
    )
  given(t, contact, created, optedOutIn(1), engaged(1, { filtered: true }))
    .when({ ...engageLead(2), optedOutBefore: true })
    .then(engaged(2, { filtered: true }))
})

test('of what a number said before its lead came and an opt-in after it the later counts', (t) => {
  const said: ContactEvent = {
    type: 'NumberOptedIn',
    data: { contact_id: contactId(), account_id: accountId(), said_at: at(1500) },
  }
  given(t, contact)
    .when({
      type: 'OptInNumber',
      contactId: contactId(),
      accountId: accountId(),
      optedOutBefore: true,
      saidAt: at(1500),
    })
    .then(said)
  const lead = (submittedAt: Instant) => ({ ...engageLead(1), optedOutBefore: true, submittedAt })
  const engagedOn = (submittedAt: Instant, filtered: boolean) =>
    engaged(1, { submittedAt, engagedAt: submittedAt, filtered })
  given(t, contact, said)
    .when(lead(at(1000)))
    .then(created, engagedOn(at(1000), false))
  given(t, contact, said)
    .when(lead(at(2000)))
    .then(created, optedOutIn(1), engagedOn(at(2000), true))
  const later = { ...engageLead(2), optedOutBefore: true, submittedAt: at(1200) }
  const second = engaged(2, { submittedAt: at(1200), engagedAt: at(1200) })
  given(t, contact, said, created, engagedOn(at(1000), false))
    .when(later)
    .then(second)
  const toSender: ContactEvent = {
    type: 'ContactOptedIn',
    data: { engagement_id: engagementId(1), said: { ...saying(1500), to_sender: true } },
  }
  given(t, contact, created, optedOutIn(1), engagedOn(at(1000), true), toSender)
    .when(later)
    .then(second)
})
