import { LRUCache } from 'lru-cache'
import { account } from '../../domain/account.js'
import { engagement } from '../../domain/engagement.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import type { LogReader } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { idIn, streamOf } from '../../domain/stream-name.js'

/** Which events are wanted; what is left out does not matter. Times are those at which events were recorded. */
export type EventSelection = {
  readonly types?: ReadonlySet<string>
  readonly from?: Instant
  /** Up to this time, and not at it. */
  readonly to?: Instant
  readonly accountId?: string
  readonly sourceId?: string
  readonly contactId?: string
  readonly correlationId?: string
}

/** Whom an event or a whole stream concerns, as far as it says so. */
type Concerned = {
  readonly accountId?: string
  readonly sourceId?: string
  readonly contactId?: string
  readonly engagementId?: string
}

/** Streams of which it is remembered whom they concern. */
const remembered = 20_000

/**
 * Whether an event is wanted. Whom it concerns stands in it or in the first event of its stream; of a delivery the
 * source stands with its engagement.
 * @throws StoreFailed
 */
export const selectedBy = (
  { read }: Pick<LogReader, 'read'>,
  selection: EventSelection,
): ((event: RecordedEvent) => boolean | Promise<boolean>) => {
  const { types, from, to, accountId, sourceId, contactId, correlationId } = selection
  const streams = new LRUCache<string, Concerned>({ max: remembered })

  const concernedByStream = async (stream: string): Promise<Concerned> => {
    const known = streams.get(stream)
    if (known !== undefined) return known
    const start = await read(stream, 0, 1)
    // What can't be decoded tells of nobody whom it concerns.
    const isUndecodable = E.isLeft(start) && start.left.kind === 'corrupt'
    const [first] = isUndecodable ? [] : orThrow(start).events
    const concerned = first === undefined ? {} : concernedBy(first)
    streams.set(stream, concerned)
    return concerned
  }

  const concerns = async (
    event: RecordedEvent,
    name: 'accountId' | 'sourceId' | 'contactId',
    id: string,
  ): Promise<boolean> => {
    if (concernedBy(event)[name] === id) return true
    const ofStream = await concernedByStream(event.stream)
    if (ofStream[name] === id) return true
    if (name !== 'sourceId' || ofStream.engagementId === undefined || ofStream.sourceId !== undefined) return false
    return (await concernedByStream(streamOf(engagement, ofStream.engagementId))).sourceId === id
  }

  const isInside = (event: RecordedEvent): boolean =>
    (types === undefined || types.has(event.type)) &&
    (correlationId === undefined || event.correlationId === correlationId) &&
    (from === undefined || event.time >= from) &&
    (to === undefined || event.time < to)
  if (accountId === undefined && contactId === undefined && sourceId === undefined) return isInside

  return async (event) => {
    if (event.revision === 0) streams.set(event.stream, concernedBy(event))
    if (!isInside(event)) return false
    if (accountId !== undefined && !(await concerns(event, 'accountId', accountId))) return false
    if (contactId !== undefined && !(await concerns(event, 'contactId', contactId))) return false
    return sourceId === undefined || concerns(event, 'sourceId', sourceId)
  }
}

const concernedBy = (event: RecordedEvent): Concerned => {
  const named = (event.type === 'ActivityRecorded' ? event.data.activity : event.data) as Readonly<
    Record<string, unknown>
  >
  const idNamed = (field: string): string | undefined => {
    const id = named[field]
    return typeof id === 'string' ? id : undefined
  }
  const own = idIn(account, event.stream)
  return defined({
    accountId: own ?? idNamed('account_id'),
    sourceId: event.type === 'ContactCreated' ? event.data.referral.marketing_source_id : idNamed('source_id'),
    contactId: idNamed('contact_id'),
    engagementId: idNamed('engagement_id'),
  })
}

const defined = (ids: Readonly<Record<string, string | undefined>>): Concerned =>
  Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined))
