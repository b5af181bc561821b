import test, { type ExecutionContext } from 'ava'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { send, having } from '../kit/network/http.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { deliveriesOf, longestDelivery } from '../kit/service/subscription.js'
import { openAccount } from '../kit/service/account.js'
import { until } from '../kit/time/until.js'

const site = serviceForFile()

/** The README's examples for those who write a receiver: two ways to verify, and a server that uses either. */
const examples = (): ReadonlyArray<string> => {
  const [, section = ''] =
    /^## Receiving webhooks$([\s\S]*?)^## /m.exec(readFileSync('projections/delivery/README.md', 'utf8')) ?? []
  return [...section.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
}

type Running = { readonly url: string; readonly said: () => string }

/** Runs an example at a free port instead of its own. */
const running = async (t: ExecutionContext, code: string, environment: Record<string, string>): Promise<Running> => {
  const program = code.replace('.listen(9000)', '.listen(0, function () { process.send(this.address().port) })')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: environment,
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const port = await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('close', () => {
      reject(new Error('the example ended'))
    })
  })
  return { url: `http://127.0.0.1:${String(port)}/`, said: () => said }
}

for (const [nth, way] of ['without a package', 'with standardwebhooks'].entries()) {
  test(`the receiver of the README verifies, deduplicates and answers: ${way}`, async (t) => {
    const [server, ...ways] = examples().toReversed()
    t.is(ways.length, 2)
    const account = await openAccount(site)
    const asked = { url: 'http://127.0.0.1:9/', token: 'hook-token-1' }
    const webhook = having(await account.manage('POST', '/webhooks', asked), 'webhook')
    const secret = String(webhook['signing_secret'])
    const code = `${ways.toReversed()[nth] ?? ''}\n${server ?? ''}`
    const receiver = await running(t, code, { SIGNING_SECRET: secret, WEBHOOK_TOKEN: asked.token })
    const path = `/webhooks/${webhook.id}`
    await account.manage('PATCH', path, { url: receiver.url })

    const { next_engagement_id } = await account.submitted({ first_name: 'Zoë' })
    const delivered = (count: number) =>
      until(
        `attempt ${count} succeeded`,
        longestDelivery,
        () => deliveriesOf(account, webhook.id),
        (all) => all.length > 0 && all.every(({ state, attempts }) => state === 'succeeded' && attempts === count),
      )
    const [delivery] = await delivered(1)
    const printed = (): number => receiver.said().split(next_engagement_id).length - 1
    await until('the lead is printed', longestDelivery, () => printed() > 0)
    await account.manage('POST', `${path}/deliveries/${delivery?.id ?? ''}/resend`)
    t.like((await delivered(2))[0], { state: 'succeeded', last_outcome: { attempt: 2, status: 204 } })
    t.is(printed(), 1, 'what comes twice is printed once')

    const sample = async () => (await account.manage('POST', `${path}/test`)).body as unknown
    t.like(await sample(), { delivered: true })
    await account.manage('POST', `${path}/signing_secret`)
    t.like(await sample(), { delivered: true }, 'the secret before is good for a day')
    await account.manage('POST', `${path}/signing_secret`)
    t.like(await sample(), { delivered: false, status: 401 }, 'the one before that is not')
    await account.manage('PATCH', path, { token: 'hook-token-2' })
    t.like(await sample(), { delivered: false, status: 401 })

    const headers = {
      authorization: `Bearer ${asked.token}`,
      'webhook-id': 'dlv_1',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    }
    const signatures = [undefined, '', 'v1', 'v1,', 'v1,AAAA', 'v2,AAAA', `v1,${Buffer.alloc(32).toString('base64')}`]
    for (const signature of signatures) {
      const signed = signature === undefined ? headers : { ...headers, 'webhook-signature': signature }
      t.is((await send(receiver.url, { method: 'POST', headers: signed, body: '{}' })).status, 401, signature)
    }
    t.is((await send(receiver.url, { method: 'POST', body: '{}' })).status, 401)
    t.is(printed(), 1)
  })
}

test('the receiver of the README refuses what was signed long ago', async (t) => {
  const [server, , plain] = examples().toReversed()
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const signing = `
    import { createHmac } from 'node:crypto'
    const of = (time) => createHmac('sha256', key).update('dlv_1.' + time + '.{}').digest('base64')
    for (const age of [0, 290, 310, -310]) {
      const time = String(Math.floor(Date.now() / 1000) - age)
      const headers = { 'webhook-id': 'dlv_1', 'webhook-timestamp': time, 'webhook-signature': 'v1,' + of(time) }
      console.log(isGenuine(headers, Buffer.from('{}')))
    }`
  const environment = { SIGNING_SECRET: secret, WEBHOOK_TOKEN: 'x' }
  const receiver = await running(t, `${plain ?? ''}\n${signing}\n${server ?? ''}`, environment)
  const said = await until('four lines', longestDelivery, receiver.said, (text) => text.split('\n').length === 5)
  t.deepEqual(said.trim().split('\n'), ['true', 'true', 'false', 'false'])
})
