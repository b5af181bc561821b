import type { Documents } from '../../../projections/ports.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'
import type { FollowPorts } from '../../../projections/subscriptions/follower.js'
import { leasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { nextTurn, turnTime } from '../time/turns.js'

/** What maintains a read model of a stage, whose waits last a turn. */
export const readModelFollower = (projection: AnyProjection, following: FollowPorts, documents: Documents) =>
  leasedFollower(
    projection.name,
    collectionOf(projection),
    () =>
      runProjection(projection, {
        ...following,
        monotonic: turnTime,
        documents,
        build: buildAlone,
        isWaitedFor: true,
      }),
    { documents, pollBackoff: nextTurn },
  )
