import test from 'ava'
import { streamReads } from '../../../../app/commands/states/stream-reads.js'

test('what is read lacks nothing where it reaches the newest event that was appended meanwhile', (t) => {
  const reads = streamReads()
  const undisturbed = reads.begin('account-1')
  t.true(undisturbed.lacksNothing('no-stream'))
  reads.appended('account-1', 3)
  reads.appended('account-2', 9)
  t.true(undisturbed.lacksNothing(3))
  t.false(undisturbed.lacksNothing(2))
  t.false(undisturbed.lacksNothing('no-stream'))
})

test('what was appended before a read began is in it', (t) => {
  const reads = streamReads()
  reads.begin('account-1').end()
  reads.appended('account-1', 3)
  t.true(reads.begin('account-1').lacksNothing(2))
})

test('one of two readers that ends takes nothing away from the other', (t) => {
  const reads = streamReads()
  const first = reads.begin('account-1')
  const second = reads.begin('account-1')
  first.end()
  reads.appended('account-1', 1)
  t.false(second.lacksNothing(0))
})

test('what was read while another subscription began may lack something', (t) => {
  const reads = streamReads()
  const before = reads.begin('account-1')
  reads.subscribed()
  t.false(before.lacksNothing(7))
  t.true(reads.begin('account-2').lacksNothing(7))
})
