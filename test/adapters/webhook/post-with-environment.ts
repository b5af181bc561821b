import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { runProgram } from '../../kit/parts/program.js'

const program = new URL('posting-process.js', import.meta.url)

/** Posts from a process of its own, whose environment has these settings besides. */
export const postWithEnvironment = async (
  environment: Readonly<Record<string, string>>,
  requests: ReadonlyArray<WebhookRequest>,
): Promise<ReadonlyArray<WebhookResponse>> => {
  const { stdout } = await runProgram(program, [JSON.stringify(requests)], environment)
  return JSON.parse(stdout) as ReadonlyArray<WebhookResponse>
}
