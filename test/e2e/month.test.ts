import test from 'ava'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openLogReader } from '../../adapters/sqlite/log-reader.js'
import { writeMonth } from '../../app/cli/demo/month.js'
import { monthLength, monthPlan } from '../../app/cli/demo/month-plan.js'
import { replay, type ReplayedEvent } from '../../app/analysis/replay.js'
import { neverAborted } from '../../domain/abortable.js'
import { beginning } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import { randomFrom } from '../kit/load/random.js'
import { having } from '../kit/network/http.js'
import { launchLeadloopBy } from '../kit/parts/leadloop.js'
import { manage } from '../kit/service/account.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { configOf } from '../kit/service/settings.js'
import { rightOf } from '../kit/right-of.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { turnTime } from '../kit/time/turns.js'
import { until } from '../kit/time/until.js'

test('a month is the same for the same numbers, in its order, and has leads, calls, quotes and sales', (t) => {
  const plan = monthPlan(randomFrom(1))
  t.deepEqual(monthPlan(randomFrom(1)), plan)
  t.notDeepEqual(monthPlan(randomFrom(2)), plan)
  t.true(plan.every(({ after }, index) => after >= (plan[index - 1]?.after ?? 0) && after < monthLength))
  for (const kind of ['lead', 'report', 'conversion'] as const) t.true(plan.some((one) => one.kind === kind))
  t.true(plan.some((one) => one.kind === 'conversion' && one.isSale))
  t.true(plan.some((one) => one.kind === 'lead' && one.person !== one.lead))
})

test('a service goes on from a made-up month as from any log, and has nothing left to post', async (t) => {
  const directory = temporaryDirectory(t)
  const config = configOf(directory)
  const isSale = (one: ReturnType<typeof monthPlan>[number]): boolean => one.kind === 'conversion' && one.isSale
  const whole = monthPlan(randomFrom(1))
  const sold = whole.find(isSale)
  const people = new Set(whole.slice(0, 60).flatMap((one) => ('person' in one ? [one.person] : [])))
  if (sold !== undefined && 'person' in sold) people.add(sold.person)
  const leads = new Set(whole.flatMap((one) => (one.kind === 'lead' && people.has(one.person) ? [one.lead] : [])))
  const plan = whole.filter((one) => ('person' in one ? people.has(one.person) : leads.has(one.lead)))
  t.deepEqual(await writeMonth(config, plan), E.right(leads.size))

  const { log, close } = rightOf(openLogReader(directory, turnTime))
  t.teardown(close)
  const written = async (): Promise<ReadonlyArray<ReplayedEvent>> => {
    const all: Array<ReplayedEvent> = []
    const everything = { after: beginning, isFollowing: false, isPersonalShown: false }
    for await (const { events } of replay(log, everything, neverAborted)) all.push(...events)
    return all
  }
  const before = await written()
  for (const type of ['LeadSubmitted', 'ActivityRecorded', 'ConversionRecorded', 'DeliverySucceeded'])
    t.true(
      before.some((event) => event.type === type),
      type,
    )

  const service = await serviceFor(t, directory)
  await until('the read models show the month', 60_000, () => isCaughtUp(service))
  const accountId = String(before[0]?.data['account_id'])
  const [webhook] = having(await manage(service, 'GET', `/accounts/${accountId}/webhooks`), 'webhooks')
  const path = `/accounts/${accountId}/webhooks/${webhook?.id}/deliveries?limit=500`
  const deliveries = having(await manage(service, 'GET', path), 'deliveries')
  t.true(deliveries.length > 0)
  t.deepEqual([...new Set(deliveries.map(({ state }) => state))], ['succeeded'])
  t.deepEqual(await written(), before)

  await service.stop()
  t.regex(JSON.stringify(await writeMonth(config, plan)), /There is a log already/)
})

test('a month that finds no more room ends with 1 and a sentence', async (t) => {
  const { exited, stderr } = launchLeadloopBy('ulimit -f 2000; exec "$0" "$@"', ['demo', '--month'], {
    DATA_DIR: temporaryDirectory(t),
    EVENTSTORE_URL: undefined,
    MONGODB_URL: undefined,
  })
  t.is((await exited).code, 1)
  t.regex(
    stderr(),
    /^leadloop can't make a month\. The stores can't be used: the disk does not answer \(SQLITE_\w+\)\.$/m,
  )
  t.notRegex(stderr(), /^ +at /m)
})

test('a month whose key can not be read is refused with the sentence of a start', async (t) => {
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'secret-key'))
  const config = { ...configOf(directory), secretKey: undefined }
  t.deepEqual(await writeMonth(config, []), E.left("SECRET_KEY: the file secret-key can't be read or made (EISDIR)."))
})
