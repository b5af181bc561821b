import test from 'ava'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openReceiver } from '../../kit/network/receiver.js'
import { serviceForFile } from '../../kit/service/in-process-service.js'
import { normaliser } from './normalised.js'
import { playClocks } from './play-clocks.js'
import { playHealth } from './play-health.js'
import { playIntake } from './play-intake.js'
import { playLoop } from './play-loop.js'
import { playManage } from './play-manage.js'
import { playRest } from './play-rest.js'
import { playStrict } from './play-strict.js'
import { arrivalsOf, recorder, type Arrival, type Exchange } from './recorder.js'

type Recording = { readonly exchanges: ReadonlyArray<Exchange>; readonly arrivals: ReadonlyArray<Arrival> }

const file = join(process.cwd(), 'test', 'e2e', 'recording', 'surfaces.json')

// RECORD_SURFACES=1 writes the recording anew instead of comparing with it.
const isRecording = process.env['RECORD_SURFACES'] === '1'

const main = serviceForFile()
const still = serviceForFile({ clockRate: 1e-9 })
const rushing = serviceForFile({ clockRate: 1_000_000 })
const idle = serviceForFile({ roles: new Set(['api', 'projector']) })
const strict = serviceForFile({ allowPrivateWebhooks: false, publicUrl: 'https://leads.example.com/base' })

/** Plays the whole script, one request after the other. */
const played = async (): Promise<Recording> => {
  const receiver = await openReceiver()
  try {
    const answers = new Map<string, number>()
    receiver.answer((n, response) => {
      const status = answers.get(receiver.requests[n - 1]?.path ?? '') ?? 200
      response.writeHead(status).end(status === 200 ? '' : 'Not now: hook-token-failing is tired')
      return undefined
    })
    const places = { main: main.url, still: still.url, rushing: rushing.url, idle: idle.url, strict: strict.url }
    const normalised = normaliser({ ...places, receiver: new URL(receiver.url).origin })
    const stage = { recorder: recorder(normalised), receiver, answers, main, still, rushing, idle, strict }
    for (const play of [playHealth, playIntake, playRest, playManage, playLoop, playClocks, playStrict])
      await play(stage)
    return { exchanges: stage.recorder.exchanges, arrivals: arrivalsOf(receiver.requests, normalised) }
  } finally {
    await receiver.close()
  }
}

test('the surfaces answer as they were recorded, byte for byte', async (t) => {
  const now = await played()
  if (isRecording) {
    writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
    t.pass()
    return
  }
  t.true(existsSync(file), 'there is no recording to compare with')
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recording
  for (const [index, exchange] of now.exchanges.entries())
    t.deepEqual(exchange, recorded.exchanges[index], exchange.name)
  t.is(now.exchanges.length, recorded.exchanges.length, 'the number of exchanges')
  for (const [index, arrival] of now.arrivals.entries()) t.deepEqual(arrival, recorded.arrivals[index], arrival.name)
  t.is(now.arrivals.length, recorded.arrivals.length, 'the number of requests to webhooks')
})
