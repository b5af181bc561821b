import test from 'ava'
import { dripped, unanswered } from '../kit/network/bad-answers.js'
import { clientOf, having, json, send, type Managed, type Site } from '../kit/network/http.js'
import { payloadOf, receiverFor, type Received } from '../kit/network/receiver.js'
import { noiseOf, openNoisyAccount, poison, type Noise, type NoisyAccount } from '../kit/load/noise.js'
import { finding, openLoadedAccount, recording } from '../kit/load/loaded-account.js'
import { idsOf, manage } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { lead } from '../kit/service/leads.js'
import { storesAtRest } from '../kit/stores/stores-at-rest.js'
import { until } from '../kit/time/until.js'

/** Of the hot number, before the neighbour sends its first lead. */
const hotLeads = 150

/** How long the noise may take to become that loud, in milliseconds. */
const longestNoise = 180_000

/** What the neighbour sends, each with a sale. */
const leads = 20

/** In the proportions in which they are sent. */
const kinds = ['hot', 'hot', 'fat', 'hot', 'hot', 'poison'] as const satisfies ReadonlyArray<keyof Noise>

/** Sends noise of every kind from several workers until it is told to stop. */
const makeNoise = (site: Site, account: NoisyAccount) => {
  const client = clientOf(site.url)
  const noise = noiseOf(account)
  const answers = { hot: [] as Array<number>, fat: [] as Array<number>, poison: [] as Array<number> }
  let sent = 0
  let isOver = false
  const work = async (): Promise<void> => {
    while (!isOver) {
      sent += 1
      const kind = kinds[sent % kinds.length] ?? 'hot'
      answers[kind].push((await client.send(...noise[kind](sent))).status)
    }
  }
  const done = Promise.all(Array.from({ length: 4 }, work))
  const stop = async (): Promise<void> => {
    isOver = true
    await done
    client.close()
  }
  return { answers, stop }
}

const told = (request: Received): string => {
  const { activity } = payloadOf(request)
  return `${activity?.next_engagement_id} ${activity?.label}`
}

test('every lead of an account is accepted and every activity delivered, whatever its neighbour does at the same time', async (t) => {
  const dataDir = dataDirectory(t)
  const before = await openService(dataDir)
  const bad = await Promise.all([receiverFor(t), receiverFor(t)])
  bad[0].answer(unanswered)
  bad[1].answer((_n, response) => dripped(response))
  const receiver = await receiverFor(t)
  const noisy = await openNoisyAccount(
    before,
    bad.map(({ url }) => url),
  )
  const quiet = await openLoadedAccount(before.url, receiver.url)
  await before.stop()
  const stores = await storesAtRest(dataDir)
  await poison(stores.store, noisy)
  await stores.close()

  const site = await serviceFor(t, dataDir)
  const { answers, stop } = makeNoise(site, noisy)
  t.teardown(stop)
  await until('the number is hot', longestNoise, () => answers.hot.length >= hotLeads)

  const client = clientOf(site.url)
  const expected: Array<string> = []
  const [quoted = ''] = quiet.conversionIds
  for (let n = 0; n < leads; n += 1) {
    const submission = lead()
    const ids = idsOf(await client.send(quiet.postPath, json(submission)))
    const found = await client.send(...finding(quiet, String(submission['phone'])))
    t.is(found.body.contact?.id, ids.contact_id)
    t.is((await client.send(...recording(quiet, quoted, ids.contact_id, {}))).status, 201)
    expected.push(`${ids.next_engagement_id} started`, `${ids.next_engagement_id} quoted`)
  }
  t.true(answers.hot.length > hotLeads, 'the noise went on')
  await receiver.received(expected.length)
  client.close()

  const due = async (webhookId: string): Promise<number> => {
    const path = `/accounts/${noisy.id}/webhooks/${webhookId}/deliveries?state=due&limit=1`
    return having(await manage(site, 'GET', path), 'count')
  }
  for (const webhookId of noisy.webhookIds) t.true((await due(webhookId)) >= hotLeads)
  await stop()
  t.deepEqual(receiver.requests.map(told).toSorted(), expected.toSorted())
  for (const [kind, status] of [
    ['hot', 200],
    ['fat', 200],
    ['poison', 201],
  ] as const) {
    t.deepEqual([...new Set(answers[kind])], [status], kind)
  }
  const parkers = async (): Promise<ReadonlyArray<unknown>> => {
    const { parked } = (await send(`${site.url}/health/ready`)).body
    return Array.isArray(parked) ? (parked as ReadonlyArray<Managed>).map((one) => one['process_manager']) : []
  }
  await until('both have parked what they could not handle', longestNoise, parkers, ({ length }) => length === 2)
})
