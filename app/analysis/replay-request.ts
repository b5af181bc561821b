import type { Position } from '../../domain/event.js'
import type { Category } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import type { EventSelection } from './event-selection.js'

export type ReplayRequest = EventSelection & {
  readonly after: Position
  /** All where it is left out. */
  readonly categories?: ReadonlyArray<Category>
  /** Goes on with what is appended, until the signal aborts. */
  readonly isFollowing: boolean
  readonly isPersonalShown: boolean
}

/** By the names that the command line and the management API share. */
export type ReplayParameters = {
  readonly after: Position
  readonly from?: Instant
  readonly to?: Instant
  readonly category?: ReadonlyArray<Category>
  readonly type?: ReadonlyArray<string>
  readonly account?: string
  readonly source?: string
  readonly contact?: string
  readonly correlation?: string
  readonly follow: boolean
  readonly personal: boolean
}

export const replayRequestOf = ({
  after,
  from,
  to,
  category,
  type,
  account,
  source,
  contact,
  correlation,
  follow,
  personal,
}: ReplayParameters): ReplayRequest => ({
  after,
  isFollowing: follow,
  isPersonalShown: personal,
  ...(category && { categories: category }),
  ...(type && { types: new Set(type) }),
  ...(from && { from }),
  ...(to && { to }),
  ...(account && { accountId: account }),
  ...(source && { sourceId: source }),
  ...(contact && { contactId: contact }),
  ...(correlation && { correlationId: correlation }),
})
