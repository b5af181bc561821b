import { send, type Site } from '../network/http.js'

type Readiness = {
  readonly status: string
  /** The settings that name servers which do not answer. */
  readonly waiting_for?: ReadonlyArray<string>
  readonly starting?: ReadonlyArray<string>
  readonly projections?: ReadonlyArray<{
    readonly name: string
    readonly lag: number | null
    readonly failure: string | null
  }>
}

/** What `/health/ready` says; without read models while the service starts. */
export const readinessOf = async ({ url }: Site): Promise<Readiness> =>
  (await send(`${url}/health/ready`)).body as Readiness

export const isReady = async (site: Site): Promise<boolean> => (await readinessOf(site)).status === 'ready'

/** A read model that an event has stopped does not count. */
export const isCaughtUp = async (site: Site): Promise<boolean> => {
  const { projections = [] } = await readinessOf(site)
  return projections.length > 0 && projections.every(({ lag, failure }) => lag === 0 || failure !== null)
}
