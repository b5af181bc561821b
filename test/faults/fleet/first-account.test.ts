import test from 'ava'
import { onServers, openFleet } from '../../kit/load/fleet.js'
import { bearer, send, sendJson } from '../../kit/network/http.js'
import { lead } from '../../kit/service/leads.js'
import { addressOf } from '../../kit/service/service-process.js'
import { until } from '../../kit/time/until.js'

/** How long a start may wait for the one before it, and then some, in milliseconds. */
const longestStart = 60_000

onServers('the first account of several processes', () => {
  test('of processes that start one after the other on empty stores one shows a key and a post URL, which are good', async (t) => {
    t.timeout(180_000)
    const fleet = await openFleet(t)
    const opened = (): boolean => fleet.double.log().some(({ type }) => type === 'AccountOpened')
    fleet.double.faults.delayAppends(500)
    const first = fleet.start()
    await until('the account was opened', longestStart, opened)
    // Its source is yet to be created. However long it is paused, and whoever takes its lease over meanwhile: one shows
    // a key.
    first.signal('SIGSTOP')
    fleet.double.faults.clear()
    const others = [fleet.start(), fleet.start()]
    await Promise.all(others.map(addressOf))
    first.signal('SIGCONT')
    const all = [first, ...others]
    await Promise.all(all.map(addressOf))
    const told = all.map(({ stderr }) => stderr())
    const keys = told.flatMap((text) => /shown this once:\s+(\S+)/.exec(text)?.[1] ?? [])
    const urls = told.flatMap((text) => /curl -s '(\S+)' -H/.exec(text)?.[1] ?? [])
    t.deepEqual([keys.length, urls.length > 0], [1, true])
    const [key = '', url = ''] = [keys[0], urls[0]]
    t.is((await sendJson(url, 'POST', lead({ phone: '+14155550123' }))).status, 200)
    const found = await send(`${new URL(url).origin}/api/v3/contacts/find?phone=%2B14155550123`, {
      headers: bearer(key),
    })
    t.is(found.status, 200)
    t.is(fleet.double.log().filter(({ type }) => type === 'MarketingSourceCreated').length, 1)
  })
})
