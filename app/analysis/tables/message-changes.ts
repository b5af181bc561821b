import type { RecordedEvent } from '../../../domain/events.js'
import type { Instant } from '../../../domain/instant.js'
import type { ErasedMessageEvent, MessageIds } from '../../../domain/message.js'

/** What an event tells of a message; what it does not tell is left out. */
type Change = {
  readonly state?: string
  /** What the provider said of it later, which counts once no attempt is in flight. */
  readonly reported?: 'sent' | 'delivered' | 'failed'
  readonly direction?: 'outbound' | 'inbound'
  readonly purpose?: string
  readonly step?: number | undefined
  readonly meaning?: string | undefined
  readonly segments?: number | undefined
  readonly attempt?: number | undefined
}

type Row = Change & MessageIds & { readonly recorded_at: Instant; readonly revision: number }

/** The changes that an event of a message tells of: one, none, or all that happened before it was erased. */
export const messageChanges = (event: RecordedEvent): ReadonlyArray<Row> => {
  const { time: recorded_at, revision } = event
  switch (event.type) {
    case 'MessageRequested':
    case 'MessageBegun':
    case 'MessageTriedAgain':
    case 'MessageAttemptFailed':
    case 'MessageSent':
    case 'MessageFailed':
    case 'MessageTaken':
    case 'MessageDelivered':
    case 'MessageUndelivered':
    case 'MessageReceived':
      return rowsOf(idsIn(event.data), [[changeIn({ type: event.type, ...event.data }), recorded_at, revision]])
    case 'MessageErased': {
      const { history = [], direction, segments, meaning, began_at, state } = event.data
      const changes = history.map((one, index) => [changeIn(one), one.at, index] as const)
      const last = changes.findLast(([change]) => change?.state !== undefined)?.[0]?.state
      const end = last !== undefined && isOver(last) ? undefined : endOf(state)
      // Older versions told of nothing but the beginning and the state.
      const at = history.length === 0 ? began_at : recorded_at
      // 0 stands for none: no attempt had begun, or it came in.
      const tried = segments === 0 ? {} : { segments }
      const closed = end === undefined ? undefined : { direction, ...tried, meaning, state: end }
      return rowsOf(idsIn(event.data), [...changes, [closed, at, history.length]])
    }
    default:
      return []
  }
}

const idsIn = ({ message_id, account_id, contact_id, engagement_id }: MessageIds): MessageIds => ({
  message_id,
  account_id,
  contact_id,
  engagement_id,
})

type At = readonly [change: Change | undefined, recorded_at: Instant, revision: number]

const rowsOf = (ids: MessageIds, changes: ReadonlyArray<At>): ReadonlyArray<Row> =>
  changes.flatMap(([change, recorded_at, revision]) =>
    change === undefined ? [] : [{ ...ids, ...change, recorded_at, revision }],
  )

const changeIn = ({
  type,
  purpose = 'step',
  step,
  segments,
  attempt,
  kind,
  meaning,
}: Omit<Partial<ErasedMessageEvent>, 'purpose'> & { readonly purpose?: string }): Change | undefined => {
  switch (type) {
    case 'MessageRequested':
      return { direction: 'outbound', purpose, state: 'waiting' }
    case 'MessageBegun':
      return { direction: 'outbound', purpose, step, segments, state: 'sending', attempt: 1 }
    case 'MessageTriedAgain':
      return { state: 'sending', attempt }
    case 'MessageAttemptFailed':
      return { state: 'waiting' }
    case 'MessageSent':
      return { state: 'sent' }
    case 'MessageFailed':
      return { state: kind === 'unknown' ? 'unknown' : 'failed' }
    case 'MessageTaken':
      return { reported: 'sent' }
    case 'MessageDelivered':
      return { reported: 'delivered' }
    case 'MessageUndelivered':
      return { reported: 'failed' }
    case 'MessageReceived':
      return { direction: 'inbound', meaning, state: 'received' }
    default:
      return undefined
  }
}

const isOver = (state: string): boolean => state !== 'waiting' && state !== 'sending'

/** What an erasure makes of a message in this state; undefined where it was closed before it had begun. */
const endOf = (state: string): string | undefined => {
  switch (state) {
    case 'unknown':
      return undefined
    case 'requested':
    case 'waiting':
      return 'dropped'
    case 'sending':
      return 'unknown'
    case 'withdrawn':
      return 'failed'
    default:
      return state
  }
}
