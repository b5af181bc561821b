import test from 'ava'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../kit/temporary-directory.js'

const program = fileURLToPath(new URL('../../app/cli/demo.js', import.meta.url))

type Ended = { readonly code: number | null; readonly told: string; readonly said: string; readonly seconds: number }

/** Runs the demo with its temporary folder inside `parent`. */
const demo = async (parent: string): Promise<Ended> => {
  const started = performance.now()
  const child = spawn(process.execPath, [program], { env: { ...process.env, TMPDIR: parent } })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [code, told, said] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, told, said, seconds: (performance.now() - started) / 1000 }
}

/** Each of these, in this order. */
const steps: ReadonlyArray<RegExp> = [
  /-> POST http:\/\/127\.0\.0\.1:\d+\/manage\/v1\/accounts\n/,
  /<- 201 Created/,
  /-> POST \S+\/webhooks\n/,
  /"token": "token-of-the-receiver"/,
  /-> POST \S+\/marketing_sources\n/,
  /"post_url": "http:/,
  /<- 400 Bad Request/,
  /"tcpa_opt_in_token is required"/,
  /"phone must be a phone number"/,
  /"date_of_birth must be /,
  /"current_residence_state must be /,
  /<- 200 OK\n\s+\{ "lead_id": "led_…/,
  /authorization: Bearer token-of-the-receiver/,
  /webhook-id: dlv_…/,
  /"label": "started"/,
  /"lead_originators": \[ \{ "origin": "Search ads", "key": "A-1001" \} \]/,
  /-> GET \S+\/api\/v3\/contacts\/find\?phone=/,
  /"phone": "\+14155550123"/,
  /-> GET \S+\/api\/v3\/conversions\n/,
  /"title": "Sold"/,
  /-> POST \S+\/api\/v3\/conversions\/\S+\/events\n/,
  /<- 201 Created/,
  /"value": 129900/,
  /-> POST \S+\/api\/v3\/conversions\/\S+\/events\n/,
  /<- 200 OK/,
  /"value": 129900/,
  /"label": "sold"/,
  /-> GET \S+\/timeline\n/,
  /delivery +sold +succeeded/,
  /LeadSubmitted +lead-led_…\S+ +vendor/,
  /ConversionRecorded +conversion_contact-ccv_…\S+ +key_…/,
  /EngagementEnded/,
]

test('a lead goes round the loop, told step by step, and nothing of it stays', async (t) => {
  const parent = temporaryDirectory(t)
  const { code, told, said, seconds } = await demo(parent)

  t.is(said, '')
  t.is(code, 0)
  t.true(seconds < 10, `it took ${seconds} s`)
  let rest = told
  for (const step of steps) {
    const found = step.exec(rest)
    t.truthy(found, `${String(step)} comes in its turn`)
    rest = rest.slice((found?.index ?? 0) + (found?.[0].length ?? 0))
  }
  t.false(told.includes('\u001b'), 'no colours where there is no terminal')
  t.deepEqual(readdirSync(parent), [])
})

test('a surprise is said in a sentence, and ends it with 1', async (t) => {
  const { code, said } = await demo('/nowhere/at/all')
  t.is(code, 1)
  t.regex(said, /^\nThe demo stopped: .+\n$/)
})
