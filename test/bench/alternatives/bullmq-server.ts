import { Queue, Worker } from 'bullmq'
import fetch from 'node-fetch'
import { Agent } from 'node:http'
import { serveLeads, type Lead } from './lead-server.js'

/** A lead is a job of BullMQ; a worker in this process posts it. */
const receiver = process.env['RECEIVER'] ?? ''
const connection = { host: '127.0.0.1', port: Number(process.env['REDIS_PORT']) }
const concurrency = Number(process.env['CONCURRENCY'])

const agent = new Agent({ keepAlive: true })
const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }

const queue = new Queue<Lead>('deliveries', { connection })
const worker = new Worker<Lead>(
  'deliveries',
  async ({ data }) => {
    const response = await fetch(receiver, { method: 'POST', body: JSON.stringify(data), headers, agent })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
  },
  { connection, concurrency },
)
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])

await serveLeads((lead) => queue.add('started', lead, { attempts: 18, backoff: { type: 'exponential', delay: 1_000 } }))
