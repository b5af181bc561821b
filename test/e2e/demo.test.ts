import test from 'ava'
import { readdirSync } from 'node:fs'
import { runLeadloop } from '../kit/parts/leadloop.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'

/** Each of these, in this order. */
const steps: ReadonlyArray<RegExp> = [
  /-> POST http:\/\/127\.0\.0\.1:\d+\/manage\/v1\/accounts\n/,
  /<- 201 Created/,
  /-> POST \S+\/webhooks\n/,
  /"token": "token-of-the-receiver"/,
  /-> PATCH \S+\/playbooks\/\S+\n/,
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
  /-> GET \S+\/messages\n/,
  /Hi Ada, this is Example Insurance\..+Reply STOP to opt out\./,
  /"text": "Who is this\?"/,
  /"label": "interested"/,
  /"meaning": "qualified"/,
  /"label": "qualified"/,
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
  /MessageSent +message-msg_…/,
  /EngagementEnded/,
  /ConversionRecorded +conversion_contact-ccv_…\S+ +key_…/,
]

test('a lead goes round the loop, told step by step, and nothing of it stays', async (t) => {
  const parent = temporaryDirectory(t)
  const { code, stdout, stderr } = await runLeadloop(['demo'], { TMPDIR: parent })

  t.is(stderr, '')
  t.is(code, 0)
  let rest = stdout
  for (const step of steps) {
    const found = step.exec(rest)
    t.truthy(found, `${String(step)} comes in its turn`)
    rest = rest.slice((found?.index ?? 0) + (found?.[0].length ?? 0))
  }
  t.false(stdout.includes('\u001b'), 'no colours where there is no terminal')
  t.deepEqual(readdirSync(parent), [])
})

test('a demo that fails says why in a sentence, and ends with 1', async (t) => {
  const { code, stderr } = await runLeadloop(['demo'], { TMPDIR: '/nowhere/at/all' })
  t.is(code, 1)
  t.regex(stderr, /^\nThe demo stopped: .+\n$/)
})
