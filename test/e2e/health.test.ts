import test from 'ava'
import { having, send } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'

const site = serviceForFile()

test.serial('metrics are in the text format of Prometheus', async (t) => {
  const account = await openAccount(site)
  await account.submitted()
  await account.submit({})
  const metrics = await send(`${site.url}/metrics`)
  t.is(metrics.status, 200)
  t.regex(metrics.headers['content-type'] ?? '', /^text\/plain; ?version=0\.0\.4/)
  const sample =
    /^[a-zA-Z_:][\w:]*(\{[a-z]\w*="(?:[^"\\]|\\.)*"(?:,[a-z]\w*="(?:[^"\\]|\\.)*")*\})? (-?[\d.e+-]+|NaN|\+Inf)$/
  for (const line of metrics.text.trim().split('\n')) {
    t.true(line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE ') || sample.test(line), line)
  }
  const count = (status: number): RegExp =>
    new RegExp(
      `^leadloop_http_request_seconds_count\\{surface="intake",route="[^"]*:source_id",status="${status}"\\} 1$`,
      'm',
    )
  t.regex(metrics.text, count(200))
  t.regex(metrics.text, count(400))
  t.regex(metrics.text, /^leadloop_follower_lag\{follower="contacts",unit="events"\} \d+$/m)
})

test.serial('health says that the process lives and how far each projection lags', async (t) => {
  const account = await openAccount(site)
  await account.submitted()
  const live = await send(`${site.url}/health/live`)
  t.is(live.status, 200)
  const ready = await send(`${site.url}/health/ready`)
  t.is(ready.status, 200)
  t.is(ready.body.status, 'ready')
  t.like(ready.body, { lag_unit: 'events' })
  const projections = having(ready, 'projections')
  t.true(projections.length >= 8)
  const names = new Set(projections.map(({ name }) => name))
  t.is(names.size, projections.length)
  // What works in this process is watched too: were it to stand still, nothing would be sent any more.
  for (const worker of ['delivery_worker', 'mailer', 'follow_up_worker']) t.true(names.has(worker), worker)
  for (const { name, lag, failure } of projections) {
    t.true(Number.isInteger(lag) && lag >= 0 && lag < 50, `${name} ${lag}`)
    t.is(failure, null, name)
  }
  for (const path of ['/health', '/health/other']) t.is((await send(site.url + path)).status, 404)
})
