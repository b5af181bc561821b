import type { Clock, Dispatch, Vault } from '../../domain/ports.js'
import type { Commands } from '../commands/client-commands.js'
import type { Surface } from '../http/endpoint.js'
import type { RateLimit } from '../http/rate-limit.js'
import type { IsBehind } from '../../projections/queries.js'
import type { Queries } from '../../projections/queries.js'
import { callerOf, type Caller } from './caller.js'
import { contactEndpoints } from './contacts.js'
import { conversionEndpoints } from './conversions.js'

type RestPorts = {
  readonly dispatch: Dispatch
  readonly vault: Vault
  readonly rateLimit: RateLimit
  readonly queries: Queries
  readonly commands: Commands
  readonly clock: Clock
  readonly isBehind: IsBehind
}

/** The REST API for the customer's own systems (contract 4.1 to 4.5). */
export const restSurface = (ports: RestPorts): Surface<Caller> => ({
  name: 'rest',
  prefix: '/api/v3',
  bodies: ['json'],
  invalidJson: { kind: 'invalid-json' },
  authenticate: callerOf(ports),
  endpoints: [...contactEndpoints(ports.queries), ...conversionEndpoints(ports)],
})
