import test from 'ava'
import { answerTo, nothingAtPath } from '../../../../app/http/problem.js'
import { portAnswering } from '../../../kit/network/answering.js'
import { runLeadloop } from '../../../kit/parts/leadloop.js'
import { operatorKey } from '../../../kit/service/settings.js'
import { temporaryDirectory } from '../../../kit/temporary-directory.js'

const erase = ['erase', `acc_${'0'.repeat(26)}`, `nct_${'0'.repeat(26)}`, '--by', 'ticket-4711']

/** Neither has an endpoint at the path that is called. */
const reasons = 'its ROLES lack api, or its version is an earlier one'

for (const [verb, command] of [
  ['erase', erase],
  ['list what is parked', ['parked', 'list']],
  ['retry', ['parked', 'retry', 'prk_1']],
  ['rebuild', ['rebuild']],
] as const) {
  test(`whoever wants to ${verb} and asks a process without the role api, or of an earlier version, is told so`, async (t) => {
    const { code, stderr } = await runLeadloop(command, {
      PORT: await portAnswering(t, answerTo(nothingAtPath)),
      DATA_DIR: temporaryDirectory(t),
      OPERATOR_KEY: operatorKey,
      EVENTSTORE_URL: undefined,
      MONGODB_URL: undefined,
    })
    t.is(code, 1)
    const sentence = `The process that listens there doesn't take this request: ${reasons}.`
    t.is(stderr, `leadloop can't ${verb}. ${sentence}\n`)
  })
}
