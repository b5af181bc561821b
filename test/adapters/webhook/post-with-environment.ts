import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/sender.js'

const program = fileURLToPath(new URL('posting-process.js', import.meta.url))

/** Posts from a process of its own, whose environment has these settings besides. */
export const postWithEnvironment = async (
  environment: Readonly<Record<string, string>>,
  requests: ReadonlyArray<WebhookRequest>,
): Promise<ReadonlyArray<WebhookResponse>> => {
  const env = { ...process.env, ...environment }
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(requests)], { env })
  return JSON.parse(stdout) as ReadonlyArray<WebhookResponse>
}
