import test from 'ava'
import { addressOf, stopped, type ServiceProcess } from '../../kit/service/service-process.js'
import { leasesOf, onServers, openFleet, type Fleet } from '../../kit/load/fleet.js'
import { bearer, having, send, sendJson, type Answer } from '../../kit/network/http.js'
import { runLeadloop } from '../../kit/parts/leadloop.js'
import type { Ended } from '../../kit/parts/program.js'
import { lead } from '../../kit/service/leads.js'
import { loadOn } from '../../kit/load/load.js'
import { openLoadedAccount } from '../../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { loadToken, startReceiver } from '../../kit/load/load-receiver.js'
import { idsOf, manage, openAccount } from '../../kit/service/account.js'
import { environmentOf } from '../../kit/service/settings.js'
import { settingsOf } from '../../kit/stores/servers.js'
import { sleep, until } from '../../kit/time/until.js'
import { vendorsAt } from '../../kit/load/vendors.js'

const rounds = 12

const starting = (fleet: Fleet, roles: string): Promise<string> => addressOf(fleet.start({ ROLES: roles }))

onServers('two processes on one pair of servers', () => {
  test('a client that writes through one reads its own write through the other', async (t) => {
    t.timeout(300_000)
    const fleet = await openFleet(t)
    const one = await starting(fleet, 'api,projector,delivery')
    const other = await starting(fleet, 'api')
    const account = await openAccount({ url: one }, 'Two processes')
    const path = new URL(account.postUrl).pathname
    const inAccount = (url: string, method: string, what: string, body?: unknown): Promise<Answer> =>
      manage({ url }, method, `/accounts/${account.id}${what}`, body)
    const get = (url: string, what: string, key = account.apiKey): Promise<Answer> =>
      send(`${url}/api/v3${what}`, { headers: bearer(key) })
    for (let round = 0; round < rounds; round += 1) {
      const [write, read] = round % 2 === 0 ? [one, other] : [other, one]
      const phone = `+1415555${String(1000 + round)}`
      const miss = await get(read, `/contacts/find?phone=%2B1212555${1000 + round}`)
      t.is(miss.status, 404, `round ${round}`)
      const submitted = await sendJson(write + path, 'POST', lead({ phone, first_name: `Ada ${round}` }))
      const { contact_id } = idsOf(submitted)
      const find = `/contacts/find?phone=${encodeURIComponent(phone)}`
      t.like(having(await get(read, find), 'contact'), { id: contact_id, first_name: `Ada ${round}` })
      const again = await sendJson(write + path, 'POST', lead({ phone, first_name: `Eve ${round}` }))
      t.is(again.status, 200)
      t.like(having(await get(read, find), 'contact'), { id: contact_id, first_name: `Eve ${round}` })
      const conversion = having(
        await inAccount(write, 'POST', '/conversions', { title: `Renewed ${round}`, value: 5 }),
        'conversion',
      )
      t.true(having(await get(read, '/conversions'), 'conversions').some(({ id }) => id === conversion.id))
      const recorded = await sendJson(
        `${read}/api/v3/conversions/${conversion.id}/events`,
        'POST',
        { conversion_contact: { contact_id } },
        bearer(account.apiKey),
      )
      t.is(recorded.status, 201)
      const secret = having(await inAccount(write, 'POST', '/api_keys', {}), 'secret')
      t.is((await get(read, find, secret)).status, 200)
      const source = `/marketing_sources/${account.sourceId}`
      t.is((await inAccount(write, 'PATCH', source, { suspended: true })).status, 200)
      t.is((await sendJson(read + path, 'POST', lead({ phone }))).status, 403)
      t.is((await inAccount(write, 'PATCH', source, { suspended: false })).status, 200)
      t.is((await sendJson(read + path, 'POST', lead({ phone }))).status, 200)
    }
  })

  test('the concurrency limit of a webhook holds over all processes, and the webhooks of a killed one are taken over', async (t) => {
    t.timeout(300_000)
    const fleet = await openFleet(t)
    const counts = { open: 0, most: 0 }
    const slow = await startReceiver(t, async () => {
      counts.open += 1
      counts.most = Math.max(counts.most, counts.open)
      await sleep(150)
      counts.open -= 1
    })
    const address = await addressOf(fleet.start({ ROLES: 'api,projector' }))
    const workers: ReadonlyArray<ServiceProcess> = [1, 2].map(() => fleet.start({ ROLES: 'delivery' }))
    await Promise.all(workers.map((worker) => addressOf(worker)))
    const account = await openLoadedAccount(address, slow.url)
    const quick = await startReceiver(t)
    for (let n = 0; n < 4; n += 1) {
      const webhook = { url: `${quick.url}/${n}`, token: loadToken }
      having(await manage({ url: address }, 'POST', `/accounts/${account.id}/webhooks`, webhook), 'webhook')
    }
    const load = loadOn(account, randomFrom(seedOf(t)))
    const vendors = vendorsAt(t, address, load)
    await until('leads are accepted', 60_000, () => load.ledger.leads.length >= 30)
    await vendors.stop()
    await until('requests were open', 60_000, () => counts.most > 0)
    t.true(counts.most <= 8, `${counts.most} were open`)
    workers[0]?.signal('SIGKILL')
    await until('every delivery was received', 60_000, () => {
      const due = fleet.double.log().filter(({ type }) => type === 'DeliveryDue').length
      const done = fleet.double.log().filter(({ type }) => type === 'DeliverySucceeded').length
      return due > 0 && due === done
    })
    t.true(counts.most <= 8, `${counts.most} were open`)
    t.true(quick.bodies.size > 0)
  })

  test('read models are built anew beside a process that takes requests, once no other one maintains them', async (t) => {
    t.timeout(300_000)
    const fleet = await openFleet(t)
    const projector = fleet.start({ ROLES: 'projector' })
    await addressOf(projector)
    const url = await starting(fleet, 'api')
    const account = await openAccount({ url })
    await account.submitted({ first_name: 'Ada' })
    const rebuild = (...names: ReadonlyArray<string>): Promise<Ended> =>
      runLeadloop(
        ['rebuild', ...names],
        environmentOf(fleet.directory, { ...settingsOf(fleet.directory), PORT: new URL(url).port }),
      )
    const refused = await rebuild('follow_ups')
    t.is(refused.code, 1)
    t.regex(refused.stderr, / A process with the role projector maintains these read models: stop it first\.\n$/)
    const tokens = await leasesOf(t, fleet).tokens()
    t.true(tokens.size > 0)
    t.true(
      [...tokens.values()].every((token) => token === 1),
      'the projector gave up no lease',
    )
    await stopped(t, projector)
    const { code, stdout, stderr } = await rebuild()
    t.is(code, 0, stderr)
    t.regex(stdout, /^contacts +1 document, equal to what was served$/m)
    t.is(having(await account.manage('GET', `/marketing_sources/${account.sourceId}/leads`), 'leads').length, 1)
  })
})
