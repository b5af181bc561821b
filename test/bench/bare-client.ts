import fetch from 'node-fetch'
import { Agent } from 'node:http'
import { performance } from 'node:perf_hooks'

/**
 * The baseline of a delivery: node-fetch over connections that are kept alive, and nothing recorded. Says how many
 * posts a second.
 */
const url = process.env['URL'] ?? ''
const count = Number(process.env['COUNT'])
const concurrency = Number(process.env['CONCURRENCY'])
const body = process.env['BODY'] ?? ''

const agent = new Agent({ keepAlive: true })
const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
let left = count
const started = performance.now()
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (left-- > 0) {
      const response = await fetch(url, { method: 'POST', body, headers, agent })
      await response.arrayBuffer()
    }
  }),
)
process.stdout.write(String(count / ((performance.now() - started) / 1000)))
agent.destroy()
