import test from 'ava'
import { MongoClient } from 'mongodb'
import type { EventEmitter } from 'node:events'
import { hangsOf } from '../../../adapters/mongodb/client/hangs.js'

/** A client that reaches nobody, whose heartbeats the test makes. */
const open = () => {
  let now = 0
  const client = new MongoClient('mongodb://127.0.0.1:9')
  const { isHung } = hangsOf(client, { heartbeat: 1_000, command: 2_000 }, () => now)
  const one = { connectionId: '127.0.0.1:9', address: '127.0.0.1:9' }
  const other = { connectionId: '127.0.0.1:10' }
  const emit = (name: string, whose: object = one): void => void (client as EventEmitter).emit(name, whose)
  return {
    emit,
    other,
    isHungAt: (at: number): boolean => {
      now = at
      return isHung(at)
    },
  }
}

test('a heartbeat that takes longer than any can is hung', (t) => {
  const { emit, isHungAt } = open()
  t.false(isHungAt(5_000))
  emit('serverHeartbeatStarted')
  t.false(isHungAt(6_000))
  t.true(isHungAt(6_001))
})

test('a heartbeat that ended, well or not, is not hung, nor is one of a server that was left', (t) => {
  for (const end of ['serverHeartbeatSucceeded', 'serverHeartbeatFailed', 'serverClosed']) {
    const { emit, isHungAt } = open()
    emit('serverHeartbeatStarted')
    emit(end)
    t.false(isHungAt(60_000), end)
    emit('serverHeartbeatStarted')
    t.false(isHungAt(61_000), end)
    t.true(isHungAt(61_001), end)
  }
})

test('a server that answers does not hide the hung heartbeat of another', (t) => {
  const { emit, other, isHungAt } = open()
  emit('serverHeartbeatStarted', other)
  t.false(isHungAt(900))
  emit('serverHeartbeatStarted')
  emit('serverHeartbeatSucceeded')
  t.true(isHungAt(1_001))
})

const connection = (connectionId: number) => ({ address: '127.0.0.1:9', connectionId })

test('a command, or the making of a connection, that takes longer than any can is hung, and one that ended is not', (t) => {
  for (const [begin, ...ends] of [
    ['connectionCheckedOut', 'connectionCheckedIn'],
    ['connectionCreated', 'connectionReady', 'connectionClosed'],
  ] as const) {
    for (const end of ends) {
      const { emit, isHungAt } = open()
      emit(begin, connection(1))
      t.false(isHungAt(2_000), begin)
      emit(begin, connection(2))
      t.true(isHungAt(2_001), begin)
      emit(end, connection(1))
      t.false(isHungAt(4_000), end)
      t.true(isHungAt(4_001), 'the other one')
    }
  }
})

test('a command hangs on where its server is left, until the client is closed', (t) => {
  const { emit, isHungAt } = open()
  emit('connectionCheckedOut', connection(1))
  emit('connectionPoolClosed', connection(1))
  emit('serverClosed')
  t.true(isHungAt(2_001))
  emit('topologyClosed')
  t.false(isHungAt(60_000))
})
