import test from 'ava'
import { decode, t as io } from '../../domain/codec.js'
import { DomainEvent } from '../../domain/events.js'
import { E } from '../../domain/prelude.js'
import { schemaVersion, upcast } from '../../domain/upcast.js'
import { goldenEvents } from '../kit/golden.js'
import { unknownFields } from '../kit/unknown-fields.js'

const golden = goldenEvents()

const typesOf = (codec: io.Any): ReadonlyArray<string> => {
  if (codec instanceof io.UnionType) return (codec.types as ReadonlyArray<io.Any>).flatMap(typesOf)
  if (!(codec instanceof io.InterfaceType)) return []
  const { type } = codec.props as { readonly type: io.LiteralType<string> }
  return [type.value]
}

test('every event type has a golden file, and every golden file an event type', (t) => {
  t.deepEqual([...new Set(golden.map(({ type }) => type))].toSorted(), typesOf(DomainEvent).toSorted())
})

test('every version between the first and the newest has its golden file', (t) => {
  for (const { type, version } of golden) {
    t.true(version >= 1 && version <= schemaVersion, `${type}.v${version}`)
    t.true(version === 1 || golden.some((older) => older.type === type && older.version === version - 1), type)
  }
})

for (const { name, type, version, data } of golden) {
  const isNewest = !golden.some((other) => other.type === type && other.version > version)

  test(`${name} is readable for ever`, (t) => {
    const event = upcast(type, version, data)
    t.deepEqual(decode(DomainEvent, event), E.right(event))
    t.true(DomainEvent.is(event))
    t.deepEqual(unknownFields(DomainEvent, event), [])
  })

  if (isNewest) {
    test(`${name} is still written so`, (t) => {
      const decoded = decode(DomainEvent, upcast(type, version, data))
      t.true(E.isRight(decoded))
      if (E.isRight(decoded)) t.deepEqual(DomainEvent.encode(decoded.right), { type, data })
    })
  }
}
