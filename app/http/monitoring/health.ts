import { E, flow, TE } from '../../../domain/prelude.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import type { ParkedCount } from '../../../projections/parking/parked-counts.js'
import type { Endpoint, Surface } from '../endpoint.js'
import { answer, bind } from '../steps.js'
import { lagsOf, type ObservedFollower } from './lags.js'

export type HealthPorts = {
  readonly store: EventStore
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  /** Those that run under leases, in whichever process, and those of this process alone. */
  readonly followers: () => ReadonlyArray<ObservedFollower>
  /** Undefined where it can't be told. */
  readonly parkedCounts: () => Promise<ReadonlyArray<ParkedCount> | undefined>
  /** Why the log took nothing at the last append; undefined where it did. */
  readonly appendFailure: () => string | undefined
  /** The followers that the start of this process still waits for. */
  readonly awaitedFollowers: () => ReadonlyArray<string>
}

/** For whoever watches over the process: no key, no personal value. */
export const healthOf = (ready: Endpoint<undefined>['handle']): Surface<undefined> => ({
  name: 'health',
  prefix: '/health',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: TE.map(() => undefined),
  endpoints: [
    { method: 'GET', path: '/live', handle: answer(200, () => ({ status: 'live' })) },
    { method: 'GET', path: '/ready', handle: ready },
  ],
})

/** Health once the stores answer. */
export const healthSurface = (ports: HealthPorts): Surface<undefined> =>
  healthOf(
    flow(
      bind('readiness', () => TE.fromTask(() => readinessOf(ports))),
      // 200 also where a follower has stopped: the body tells the operator, and the process still serves requests.
      answer(
        ({ readiness }) => (readiness.projections === undefined ? 503 : 200),
        ({ readiness }) => readiness,
      ),
    ),
  )

/**
 * `lag`: what is still to be handled of the log, in `lag_unit`; null while the read models do not answer. `failure`:
 * why it has stopped. `retrying`: why it stands still for now. `parked`: events that process managers could not handle,
 * of those that have any; null where the read models do not answer. `starting`: what the start of this process still
 * waits for. `append_failure`: why the log takes nothing, though it can be read.
 */
type Readiness = {
  readonly status: 'ready' | 'degraded' | 'the event store does not answer'
  readonly lag_unit?: EventStore['positionUnit']
  readonly projections?: ReadonlyArray<{
    readonly name: string
    readonly lag: number | null
    readonly failure: string | null
    readonly retrying: string | null
  }>
  readonly parked?: ReadonlyArray<{ readonly process_manager: string; readonly events: number }> | null
  readonly starting?: ReadonlyArray<string>
  readonly append_failure?: string | null
}

const readinessOf = async (ports: HealthPorts): Promise<Readiness> => {
  const { store, monotonic, parkedCounts, awaitedFollowers, appendFailure } = ports
  const followers = ports.followers()
  const head = await store.head()
  if (E.isLeft(head)) return { status: 'the event store does not answer' }
  const lags = await lagsOf(followers, head.right, monotonic)
  const projections = followers.map((one, index) => ({
    name: one.name,
    lag: lags[index] ?? null,
    failure: one.failure() ?? null,
    retrying: one.retrying() ?? null,
  }))
  const counts = await parkedCounts()
  const parked = counts
    ?.filter(({ events }) => events > 0)
    .map(({ processManager, events }) => ({ process_manager: processManager, events }))
  const starting = awaitedFollowers()
  const append_failure = appendFailure() ?? null
  const isWhole =
    projections.every(({ lag, failure, retrying }) => lag !== null && failure === null && retrying === null) &&
    parked?.length === 0 &&
    starting.length === 0 &&
    append_failure === null
  return {
    status: isWhole ? 'ready' : 'degraded',
    lag_unit: store.positionUnit,
    projections,
    parked: parked ?? null,
    starting,
    append_failure,
  }
}
