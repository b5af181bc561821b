import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { namesToAcquire, namesToGiveUp, type Situation } from '../../../adapters/mongodb/leases/allocation.js'
import { holds } from '../../kit/domain/property.js'

const numbered = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, n) => `name_${n}`)

/** Instances `a`, `b`, … that do the work, one after the other of the same fleet. */
const situationOf = (names: ReadonlyArray<string>, count: number, instance = 'a'): Situation => ({
  work: 'work',
  names,
  instance,
  living: instancesOf(count).map((_id) => ({ _id, work: ['work'], heartbeat: 1 })),
})

const instancesOf = (count: number): ReadonlyArray<string> => 'abcdefghij'.split('').slice(0, count)

test('an instance that is alone acquires every free name', (t) => {
  t.deepEqual(namesToAcquire(situationOf(numbered(4), 1), numbered(4), 0), numbered(4))
})

test('an instance acquires no more than is missing to its fair share', (t) => {
  const names = numbered(10)
  t.is(namesToAcquire(situationOf(names, 3), names, 0).length, 4)
  t.is(namesToAcquire(situationOf(names, 3), names.slice(3), 3).length, 1)
  t.deepEqual(namesToAcquire(situationOf(names, 3), names.slice(4), 4), [])
  t.deepEqual(namesToAcquire(situationOf(names, 3), [], 0), [])
})

test('instances that do other work have no share', (t) => {
  const situation = situationOf(numbered(6), 2)
  const living = [...situation.living, { _id: 'other', work: ['other work'], heartbeat: 1 }]
  t.is(namesToAcquire({ ...situation, living }, numbered(6), 0).length, 3)
})

test('an instance that is not among the living yet has a share all the same', (t) => {
  t.is(namesToAcquire(situationOf(numbered(6), 2, 'new'), numbered(6), 0).length, 2)
})

test('instances that acquire at the same time begin at different names, and together want all', (t) => {
  const names = numbered(12)
  const wanted = instancesOf(3).map((instance) => namesToAcquire(situationOf(names, 3, instance), names, 0))
  t.deepEqual(wanted.flat().toSorted(), names.toSorted())
})

test('an instance gives up what is above its fair share, and names that are not part of the work any more', (t) => {
  const names = numbered(6)
  t.deepEqual(namesToGiveUp(situationOf(names, 1), names), [])
  t.deepEqual(namesToGiveUp(situationOf(names, 2), names), ['name_3', 'name_4', 'name_5'])
  t.deepEqual(namesToGiveUp(situationOf(names, 2), ['gone', 'name_1']), ['gone'])
})

test('instances that give up and acquire in turns end with all names leased and no one above the fair share', (t) => {
  const property = fc.property(fc.integer({ min: 1, max: 10 }), fc.nat(40), fc.nat(), (count, size, seed) => {
    const names = numbered(size)
    const instances = instancesOf(count)
    // At first the names lie anywhere.
    const leased = new Map(instances.map((instance) => [instance, new Set<string>()]))
    names.forEach((name, n) => leased.get(instances[(n * seed) % count] ?? 'a')?.add(name))
    for (let turn = 0; turn < 2; turn += 1) {
      for (const instance of instances) {
        const own = leased.get(instance) ?? new Set()
        for (const name of namesToGiveUp(situationOf(names, count, instance), [...own])) own.delete(name)
        const taken = new Set([...leased.values()].flatMap((one) => [...one]))
        const free = names.filter((name) => !taken.has(name))
        for (const name of namesToAcquire(situationOf(names, count, instance), free, own.size)) own.add(name)
      }
    }
    const all = [...leased.values()].flatMap((one) => [...one])
    assert.deepEqual(all.toSorted(), names.toSorted())
    for (const one of leased.values()) assert.ok(one.size <= Math.ceil(size / count))
  })
  holds(t, property)
})
