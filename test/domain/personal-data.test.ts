import test from 'ava'
import type { DomainEvent } from '../../domain/events.js'
import { personalFields, shownData } from '../../domain/personal-data.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import { goldenEvents } from '../kit/domain/golden.js'
import { rightOf } from '../kit/right-of.js'

const golden: ReadonlyArray<DomainEvent> = goldenEvents().map(({ type, version, data }) =>
  rightOf(decodeStoredEvent(type, version, data)),
)

const at = (data: unknown, path: string): unknown =>
  path.split('.').reduce((value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], data)

/** Of the person in the golden files, and of the vendor's id of her lead. */
const values =
  /test\.contact@|contact@new|\+12175550142|12 Sample Street|1988-04-17|c0ffee5e|crm-20481|"Test"|Hi Test|No answer|manager@agency/

test('every field of the list stands in an event of its type', (t) => {
  for (const [type, paths] of Object.entries(personalFields)) {
    for (const path of paths) {
      const holding = golden.filter((event) => event.type === type && at(event.data, path) !== undefined)
      t.true(holding.length > 0, `${type}: ${path}`)
    }
  }
})

test('no stored shape shows a personal value, and those that hold one show it where it is asked for', (t) => {
  for (const event of golden) {
    t.notRegex(JSON.stringify(shownData(event, { isPersonalShown: false })), values, event.type)
    const isHolding = values.test(JSON.stringify(event.data))
    t.is(values.test(JSON.stringify(shownData(event, { isPersonalShown: true }))), isHolding, event.type)
  }
  t.true(golden.filter(({ data }) => values.test(JSON.stringify(data))).length > 5)
})

test('what is sealed or hashed is never shown', (t) => {
  const secrets = /sealed|hash/
  for (const event of golden) {
    t.notRegex(JSON.stringify(shownData(event, { isPersonalShown: true })), secrets, event.type)
  }
  t.true(golden.some(({ data }) => secrets.test(JSON.stringify(data))))
})

test('everything else stays as it was recorded', (t) => {
  const holding = golden.filter((event) => personalFields[event.type].length === 0)
  for (const event of holding) {
    if (/sealed|hash/.test(JSON.stringify(event.data))) continue
    t.deepEqual(shownData(event, { isPersonalShown: false }), event.data)
  }
})
