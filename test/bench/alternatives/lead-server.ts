import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import type { AddressInfo } from 'node:net'
import type { Instant } from '../../../domain/instant.js'
import { standardFields } from '../../../domain/playbook-settings.js'
import { decodeSubmission } from '../../../domain/submission.js'
import { leadFields } from '../leads.js'

/** What a decoded lead holds. */
export type Lead = Extract<ReturnType<typeof decodeSubmission>, { readonly _tag: 'Right' }>['right']

const decode = (body: unknown) => decodeSubmission(standardFields, new Date().toISOString() as Instant, body)

/**
 * Koa with the decoding of Leadloop: a lead is answered with 200 once `accept` has stored it. One is accepted before
 * any other, since what makes its tables with the first one fails where several are first. Says where it listens, and
 * runs until a signal.
 */
export const serveLeads = async (accept: (lead: Lead) => Promise<unknown>): Promise<void> => {
  const first = decode(leadFields(0))
  if (first._tag === 'Right') await accept(first.right)
  const koa = new Koa()
  const router = new Router()
  router.post('/marketing_sources/:account_id/:source_id', bodyParser(), async (ctx) => {
    const decoded = decode(ctx.request.body)
    if (decoded._tag === 'Right') await accept(decoded.right)
    ctx.status = decoded._tag === 'Right' ? 200 : 400
    ctx.body = { lead_id: 'led_', contact_id: 'nct_', next_engagement_id: 'neg_' }
  })
  koa.use(router.routes())
  const server = koa.listen(0, '127.0.0.1', () => {
    process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
  })
  process.once('SIGTERM', () => process.exit(0))
}
