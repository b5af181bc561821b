import type { Answer } from '../../../app/http/problem.js'
import type { Scope } from '../temporary-directory.js'
import { receiverFor, type Answering } from './receiver.js'

/** What a service answers that is asked whether it lives. */
export const live: Answering = (_, response) => {
  response.writeHead(200).end('{"status":"live"}')
  return undefined
}

/** The port of a process that lives, and gives this answer to whatever else it is asked. */
export const portAnswering = async (scope: Scope, { status, body }: Answer): Promise<string> => {
  const receiver = await receiverFor(scope)
  receiver.answer((n, response) => {
    if (response.req.url === '/health/live') return live(n, response)
    response.writeHead(status).end(JSON.stringify(body))
    return undefined
  })
  return new URL(receiver.url).port
}
