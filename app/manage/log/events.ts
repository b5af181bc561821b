import { eitherOf } from '../../../domain/abortable.js'
import { decode, fromText, refined, t, Text } from '../../../domain/codec.js'
import { categories, eventTypes, type Category, type EventType } from '../../../domain/events.js'
import { beginning, isPosition } from '../../../domain/event.js'
import { AccountId, ContactId, SourceId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { E, flow, type Either } from '../../../domain/prelude.js'
import { UndecodableEvent } from '../../../domain/store-failed.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import { replayRequestOf, type ReplayRequest } from '../../analysis/replay-request.js'
import { beyondHead, replay } from '../../analysis/replay.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import { invalid, StreamedText, type Problem } from '../../http/problem.js'
import { answer, bind, check } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

/** The events of the log as JSON lines, for those who can't reach the disk. A position is the cursor. */
export const eventEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path: '/events',
    handle: flow(
      bind('asked', ({ request }) => askedIn(request)),
      // What fails later can only break the answer off.
      check(async ({ asked }) => {
        const head = await ports.store.head()
        if (E.isLeft(head)) return head.left
        const refusal = beyondHead(asked.replayed, head.right)
        return refusal === undefined ? undefined : { kind: 'invalid', messages: [refusal] }
      }),
      answer(200, ({ asked }) => new StreamedText((gone) => linesOf(ports, asked, gone)), {
        'content-type': 'application/x-ndjson; charset=utf-8',
      }),
    ),
  },
]

const defaultLimit = 1_000
const mostOnPage = 10_000

type Asked = { readonly replayed: ReplayRequest; readonly limit: number }

async function* linesOf(
  { store, logger, draining }: ManagePorts,
  { replayed, limit }: Asked,
  gone: AbortSignal,
): AsyncGenerator<string> {
  const { signal, unlink } = eitherOf(draining, gone)
  let left = limit
  try {
    for await (const { events } of replay(store, replayed, signal)) {
      const lines = events.slice(0, left).map((event) => `${JSON.stringify(event)}\n`)
      left -= lines.length
      if (lines.length > 0) yield lines.join('')
      if (left === 0) return
    }
  } catch (error) {
    // Nobody is left to be told, or the service stops.
    if (signal.aborted) throw error
    const position = error instanceof UndecodableEvent ? error.entry.position.toString() : undefined
    logger.warn({ reason: reasonOf(error), position }, 'a replay was broken off')
    throw error
  } finally {
    unlink()
  }
}

/** A codec of a parameter that holds one of these names, or several with commas between them. */
const listOf = <Name extends string>(what: string, names: ReadonlyArray<Name>) =>
  fromText(`${what}, with commas between them`, (text) => {
    const given = text.split(',')
    const known = names.filter((name) => given.includes(name))
    return known.length === new Set(given).size ? known : undefined
  })

const PositionFromText = fromText('a position that an event had, or 0', (text) => {
  const position = /^\d{1,16}$/.test(text) ? BigInt(text) : -1n
  return isPosition(position) ? position : undefined
})

const LimitFromText = fromText(`a whole number from 1 to ${mostOnPage}`, (text) => {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= mostOnPage ? limit : undefined
})

const Flag = refined('true or false', (value): value is 'true' | 'false' => value === 'true' || value === 'false')

const AskedQuery = t.partial({
  after: PositionFromText,
  from: InstantFromText,
  to: InstantFromText,
  category: listOf<Category>('categories of streams', categories),
  type: listOf<EventType>('event types', eventTypes),
  account: AccountId,
  source: SourceId,
  contact: ContactId,
  correlation: Text,
  limit: LimitFromText,
  follow: Flag,
  personal: Flag,
})

const askedIn = ({ query }: Request): Either<Problem, Asked> => {
  const given = Object.keys(AskedQuery.props).flatMap((name) => {
    const value = query(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const decoded = decode(AskedQuery, Object.fromEntries(given))
  if (E.isLeft(decoded)) return E.left(invalid(decoded.left))
  const { after = beginning, follow, personal, limit, ...selected } = decoded.right
  const isFollowing = follow === 'true'
  return E.right({
    limit: isFollowing && limit === undefined ? Infinity : (limit ?? defaultLimit),
    replayed: replayRequestOf({ ...selected, after, follow: isFollowing, personal: personal === 'true' }),
  })
}
