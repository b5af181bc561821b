import test from 'ava'
import { contacts } from '../../projections/read-models/contacts.js'
import { anyProjection, changesOf, keysToRead, Unprojectable } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { logOf } from '../kit/domain/log.js'
import { accountId, contactId, details, engagementId, leadId, positionAt, sourceId } from '../kit/domain/samples.js'

const projection = anyProjection(contacts)

const created = (n: number) =>
  [
    `contact-${contactId(n)}`,
    {
      type: 'ContactCreated',
      data: {
        contact_id: contactId(n),
        account_id: accountId(),
        details: details(),
        referral: { marketing_source_id: sourceId(), marketing_source_title: 'Search ads', lead_id: leadId(n) },
      },
    },
  ] as const

const optedOut = (n: number) =>
  [`contact-${contactId(n)}`, { type: 'ContactOptedOut', data: { engagement_id: engagementId(n) } }] as const

test('a batch gives one change a document, at the position of its last event', (t) => {
  const log = logOf(created(1), created(2), optedOut(1), [
    `account-${accountId()}`,
    { type: 'AccountEnabled', data: {} },
  ])
  const changes = changesOf(projection, new Map(), log)
  t.deepEqual(
    changes.map(({ key, position }) => ({ key, position })),
    [
      { key: contactId(1), position: positionAt(3) },
      { key: contactId(2), position: positionAt(2) },
    ],
  )
  t.like(changes[0]?.document, { opted_out: true })
  t.like(changes[1]?.document, { opted_out: false })
})

test('the documents that a batch does not begin itself are read, once each', (t) => {
  const other = [`account-${accountId()}`, { type: 'AccountEnabled', data: {} }] as const
  const log = logOf(created(1), optedOut(1), optedOut(2), other, optedOut(2), created(3))
  t.deepEqual(keysToRead(projection, log), [contactId(2)])
})

test('a document that a batch changes and then begins again is read', (t) => {
  t.deepEqual(keysToRead(projection, logOf(optedOut(1), created(1))), [contactId(1)])
})

test('events that a document reflects already change nothing, though they count', (t) => {
  const counting = anyProjection({
    ...contacts,
    keyOf: () => 'count',
    evolve: (document: { readonly count: number } | undefined) => ({ count: (document?.count ?? 0) + 1 }),
  })
  const log = logOf(created(1), created(2), created(3))
  const stored = new Map([['count', { document: { count: 2 }, position: positionAt(2) }]])
  t.deepEqual(changesOf(counting, stored, log), [{ key: 'count', document: { count: 3 }, position: positionAt(3) }])
  t.deepEqual(changesOf(counting, new Map([['count', { document: { count: 3 }, position: positionAt(3) }]]), log), [])
  const removed = new Map([['count', { document: undefined, position: positionAt(2) }]])
  t.deepEqual(changesOf(counting, removed, log), [{ key: 'count', document: { count: 1 }, position: positionAt(3) }])
})

test('an event that cannot be folded stops the projection without telling what it holds', (t) => {
  const [first, second] = logOf(created(1), created(1))
  if (first === undefined || second === undefined) return t.fail()
  const broken = { ...second, data: { ...second.data, details: 'Ada' } } as unknown as typeof second
  const failing = anyProjection({
    ...contacts,
    evolve: () => {
      throw new TypeError('Ada has no details')
    },
  })
  const error = t.throws(() => changesOf(failing, new Map(), [first, broken]), { instanceOf: Unprojectable })
  t.regex(
    error.message,
    /^contacts can't fold ContactCreated at position 1: an exception \(TypeError at [a-z/-]+\.[jt]s:\d+\)$/,
  )
})

test('no two read models share a name', (t) => {
  const names = readModels.map(({ name }) => name)
  t.is(new Set(names).size, names.length)
})
