import type { Answer } from '../../../app/http/problem.js'
import type { Scope } from '../temporary-directory.js'
import { receiverFor } from './receiver.js'

/** The port of a process that gives this answer to whatever it is asked. */
export const portAnswering = async (scope: Scope, { status, body }: Answer): Promise<string> => {
  const receiver = await receiverFor(scope)
  receiver.answer((_, response) => {
    response.writeHead(status).end(JSON.stringify(body))
    return undefined
  })
  return new URL(receiver.url).port
}
