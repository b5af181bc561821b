import test, { type ExecutionContext } from 'ava'
import { addressOf, type ChildService } from '../../kit/service/service-process.js'
import { added, onServers, openFleet, type Fleet } from '../../kit/load/fleet.js'
import { sendJson, type Answer } from '../../kit/network/http.js'
import { lead } from '../../kit/service/leads.js'
import { loadOn, openAccount, randomFrom, seedOf, startReceiver } from '../../kit/load/load.js'
import { bearer, having, idsOf, openAccount as openManaged, operatorKey } from '../../kit/service/service.js'
import { passed, until } from '../../kit/time/until.js'
import { vendorsAt } from '../../kit/load/vendors.js'

const rounds = 30

const starting = (t: ExecutionContext, fleet: Fleet, roles: string): Promise<string> =>
  addressOf(t, fleet.start({ logLevel: 'fatal', environment: { ROLES: roles, OPERATOR_KEY: operatorKey } }))

onServers('two processes on one pair of servers', () => {
  test('a client that writes through one reads its own write through the other', async (t) => {
    t.timeout(120_000)
    const fleet = await openFleet(t)
    const one = await starting(t, fleet, 'api,projector,delivery')
    const other = await starting(t, fleet, 'api')
    const account = await openManaged({ url: one }, 'Two processes')
    const path = new URL(account.postUrl).pathname
    const manage = (where: string, method: string, what: string, body?: unknown): Promise<Answer> =>
      sendJson(`${where}/manage/v1/accounts/${account.id}${what}`, method, body, bearer(operatorKey))
    for (let round = 0; round < rounds; round += 1) {
      const [write, read] = round % 2 === 0 ? [one, other] : [other, one]
      const phone = `+1415555${String(1000 + round)}`
      const miss = await sendJson(`${read}/api/v3/contacts/find?phone=%2B1212555${1000 + round}`, 'GET', undefined, {
        ...bearer(account.apiKey),
      })
      t.is(miss.status, 404, `round ${round}`)
      const submitted = await sendJson(write + path, 'POST', lead({ phone, first_name: `Ada ${round}` }))
      const { contact_id } = idsOf(submitted)
      const find = `/api/v3/contacts/find?phone=${encodeURIComponent(phone)}`
      const found = await sendJson(read + find, 'GET', undefined, bearer(account.apiKey))
      t.like(having(found, 'contact'), { id: contact_id, first_name: `Ada ${round}` })
      const again = await sendJson(write + path, 'POST', lead({ phone, first_name: `Eve ${round}` }))
      t.is(again.status, 200)
      const changed = await sendJson(read + find, 'GET', undefined, bearer(account.apiKey))
      t.like(having(changed, 'contact'), { id: contact_id, first_name: `Eve ${round}` })
      const conversion = having(
        await manage(write, 'POST', '/conversions', { title: `Renewed ${round}`, value: 5 }),
        'conversion',
      )
      const listed = await sendJson(`${read}/api/v3/conversions`, 'GET', undefined, bearer(account.apiKey))
      t.true(having(listed, 'conversions').some(({ id }) => id === conversion.id))
      const recorded = await sendJson(
        `${read}/api/v3/conversions/${conversion.id}/events`,
        'POST',
        { conversion_contact: { contact_id } },
        bearer(account.apiKey),
      )
      t.is(recorded.status, 201)
      const { secret } = (await manage(write, 'POST', '/api_keys', {})).body as { readonly secret: string }
      t.is((await sendJson(read + find, 'GET', undefined, bearer(secret))).status, 200)
      const source = `/marketing_sources/${account.sourceId}`
      t.is((await manage(write, 'PATCH', source, { suspended: true })).status, 200)
      t.is((await sendJson(read + path, 'POST', lead({ phone }))).status, 403)
      t.is((await manage(write, 'PATCH', source, { suspended: false })).status, 200)
      t.is((await sendJson(read + path, 'POST', lead({ phone }))).status, 200)
    }
  })

  test('the cap on open requests to a webhook holds over all, and a killed one has its webhooks taken over', async (t) => {
    t.timeout(120_000)
    const fleet = await openFleet(t)
    const counts = { open: 0, most: 0 }
    const slow = await startReceiver(t, async () => {
      counts.open += 1
      counts.most = Math.max(counts.most, counts.open)
      await passed(150)
      counts.open -= 1
    })
    const address = await addressOf(t, fleet.start({ logLevel: 'fatal', environment: { ROLES: 'api,projector' } }))
    const workers: ReadonlyArray<ChildService> = [1, 2].map(() =>
      fleet.start({ logLevel: 'fatal', environment: { ROLES: 'delivery' } }),
    )
    await Promise.all(workers.map((worker) => addressOf(t, worker)))
    const account = await openAccount(address, slow.url)
    const quick = await startReceiver(t)
    for (let n = 0; n < 12; n += 1) {
      await added(address, account, 'webhooks', { url: `${quick.url}/${n}`, token: 'the-token-of-the-receiver' })
    }
    const load = loadOn(account, randomFrom(seedOf(t)))
    const vendors = vendorsAt(address, load)
    await until('leads are accepted', 20_000, () => load.ledger.leads.length >= 60)
    await vendors.stop()
    await until('requests were open', 20_000, () => counts.most > 0)
    t.true(counts.most <= 8, `${counts.most} were open`)
    workers[0]?.signal('SIGKILL')
    await until('every delivery was received', 60_000, async () => {
      const due = fleet.double.log().filter(({ type }) => type === 'DeliveryDue').length
      const done = fleet.double.log().filter(({ type }) => type === 'DeliverySucceeded').length
      await passed(100)
      return due > 0 && due === done
    })
    t.true(counts.most <= 8, `${counts.most} were open`)
    t.true(quick.bodies.size > 0)
  })
})
