import type { Site } from '../network/http.js'
import { manage } from './account.js'

/** An event as the operator reads it from the log. */
export type LoggedEvent = {
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of a conversation, in the order of the log. */
export const loggedOf = async (site: Site, engagementId: string): Promise<ReadonlyArray<LoggedEvent>> => {
  const { text } = await manage(site, 'GET', '/events?category=engagement&limit=1000')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LoggedEvent)
    .filter(({ stream }) => stream === `engagement-${engagementId}`)
}
