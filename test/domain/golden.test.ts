import test from 'ava'
import { codecOf, eventTypes } from '../../domain/events.js'
import { E } from '../../domain/prelude.js'
import { decodeStoredEvent, schemaVersion } from '../../domain/stored-event.js'
import { goldenEvents } from '../kit/domain/golden.js'
import { rightOf } from '../kit/right-of.js'
import { unknownFields } from '../kit/domain/unknown-fields.js'

const golden = goldenEvents()

test('every event type has a golden file, and every golden file an event type', (t) => {
  t.deepEqual([...new Set(golden.map(({ type }) => type))].toSorted(), [...eventTypes].toSorted())
})

test('every version from the first one of an event type to its newest has its golden file', (t) => {
  for (const { type, version } of golden) {
    t.true(version >= 1 && version <= schemaVersion, `${type}.v${version}`)
    const others = golden.filter((other) => other.type === type).map((other) => other.version)
    t.true(version === Math.min(...others) || others.includes(version - 1), `${type}.v${version - 1}`)
  }
})

for (const { name, type, version, data } of golden) {
  const isNewest = !golden.some((other) => other.type === type && other.version > version)

  test(`${name} is readable for ever`, (t) => {
    const event = rightOf(decodeStoredEvent(type, version, data))
    const codec = codecOf(type)
    t.true(event.type === type)
    t.true(codec?.is(event))
    t.deepEqual(codec && unknownFields(codec, event), [])
  })

  if (isNewest) {
    test(`${name} is still written so`, (t) => {
      const event = rightOf(decodeStoredEvent(type, version, data))
      t.deepEqual(codecOf(type)?.encode(event), { type, data })
    })
  }
}

test('an event of a type or a version that is not known is corrupt, and the reason says so', (t) => {
  const [known] = golden
  if (known === undefined) return t.fail('there is no golden file')
  const reasonOf = (type: string, version: number, data: unknown): string | undefined => {
    const decoded = decodeStoredEvent(type, version, data)
    return E.isLeft(decoded) ? decoded.left.reason : undefined
  }
  t.is(reasonOf('LeadVanished', 1, {}), 'an event has the type LeadVanished, which this version does not know')
  for (const version of [0, 1.5, schemaVersion + 1, Number.NaN]) {
    t.is(
      reasonOf(known.type, version, known.data),
      `${known.type} has a schema version that this version does not know`,
    )
  }
})

test('a call that an older version stored as lasting beyond the year 9999 lasts to its end', (t) => {
  const { data } = golden.find(({ name }) => name === 'ActivityRecorded.v1-call.json') ?? { data: {} }
  const untilOf = (call_until: string): unknown => {
    const decoded = decodeStoredEvent('ActivityRecorded', 1, { ...(data as object), call_until })
    return E.isRight(decoded) && decoded.right.type === 'ActivityRecorded' ? decoded.right.data.call_until : undefined
  }
  t.is(untilOf('+010000-01-01T00:59:59.000Z'), '9999-12-31T23:59:59.999Z')
  for (const none of ['+010000-13-01T00:59:59.000Z', '10000-01-01T00:59:59.000Z', 'never'])
    t.is(untilOf(none), undefined)
})

test('an event whose data does not decode is corrupt: the reason names the field and not its value', (t) => {
  const { data } = golden.find(({ type }) => type === 'MemberAdded') ?? { data: {} }
  const decoded = decodeStoredEvent('MemberAdded', 1, { ...(data as object), role: 'ada@example.com' })
  t.deepEqual(
    decoded,
    E.left({ kind: 'corrupt', reason: "MemberAdded can't be decoded: data.role must be admin, manager or agent" }),
  )
})
