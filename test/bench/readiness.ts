import { urlOf, type Child } from './child.js'

type Readiness = {
  readonly status: string
  readonly projections?: ReadonlyArray<{ readonly lag: number | null; readonly failure: string | null }>
}

export const readinessOf = async (service: Child): Promise<Readiness> =>
  (await (await fetch(`${urlOf(service)}/health/ready`)).json()) as Readiness

export const isReady = async (service: Child): Promise<boolean> => (await readinessOf(service)).status === 'ready'

/** A read model that an event has stopped does not count. */
export const isCaughtUp = async (service: Child): Promise<boolean> => {
  const { projections = [] } = await readinessOf(service)
  return projections.length > 0 && projections.every(({ lag, failure }) => lag === 0 || failure !== null)
}
