import test from 'ava'
import { activityLabels } from '../../domain/activity.js'
import { isReportable, triggers } from '../../domain/trigger.js'

test('every label of the contract is fired by something, or is for people and telephony to report', (t) => {
  const fired = new Set<string>(Object.values(triggers).map(({ label }) => label))
  t.deepEqual(
    activityLabels.filter((label) => !fired.has(label)),
    activityLabels.filter((label) => label.startsWith('phone_call_')),
  )
  t.deepEqual(
    activityLabels.filter((label) => !fired.has(label) && !isReportable(label)),
    [],
  )
})
