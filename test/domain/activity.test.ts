import test from 'ava'
import { activityLabels, labelsOf, typeOf } from '../../domain/activity.js'

/**
 * Every label that was ever stored, by its type. A line is added with a new label; none is ever changed or taken away.
 */
const everStored = {
  started: 'event',
  interested: 'event',
  phone_call_scheduled: 'event',
  phone_call_started: 'event',
  phone_call_connected: 'event',
  phone_call_rep_attempted: 'event',
  phone_call_transferred: 'event',
  phone_call_transfer_failed: 'event',
  phone_call_completed: 'event',
  phone_call_missed: 'event',
  phone_call_received: 'event',
  dormant: 'outcome',
  opted_out: 'outcome',
  filtered: 'outcome',
  undeliverable: 'outcome',
  qualified: 'outcome',
  not_interested: 'outcome',
  unqualified: 'outcome',
  quoted: 'conversion',
  sold: 'conversion',
  link_clicked: 'conversion',
  custom_conversion: 'conversion',
}

test('a label that was ever stored is known for ever, under the same type', (t) => {
  t.deepEqual(Object.fromEntries(activityLabels.map((label) => [label, typeOf(label)])), everStored)
})

test('a label belongs to one type', (t) => {
  const all = Object.values(labelsOf).flat()
  t.is(new Set(all).size, all.length)
})
