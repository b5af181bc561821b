import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import type { AddressInfo } from 'node:net'
import type { Instant } from '../../domain/instant.js'
import { standardFields } from '../../domain/playbook-settings.js'
import { decodeSubmission } from '../../domain/submission.js'

/** The baseline: Koa, a router, a body parser and the same decoding, and nothing behind them. */
const koa = new Koa()
const router = new Router()
const now = new Date().toISOString() as Instant
const constant = {
  contact: {
    id: 'nct_00000000000000000000000000',
    first_name: 'Ada',
    last_name: 'Example',
    email: 'ada@example.com',
    phone: '+14155550123',
    opted_out: false,
    created_at: now,
    additional_info: { gender: 'Female', credit_rating: 'Good', current_residence_state: 'CA' },
    referral: {},
  },
}

router.post('/marketing_sources/:account_id/:source_id', bodyParser(), (ctx) => {
  const submission = decodeSubmission(standardFields, now, ctx.request.body)
  ctx.status = submission._tag === 'Right' ? 200 : 400
  ctx.body = { lead_id: 'led_', contact_id: 'nct_', next_engagement_id: 'neg_' }
})
router.get('/api/v3/contacts/find', (ctx) => {
  ctx.body = constant
})
koa.use(router.routes())
const server = koa.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
