import type { Clock, CommandHandler, Vault } from '../../domain/ports.js'
import type { HasPendingReactions, Queries } from '../../projections/queries.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { Surface } from '../http/endpoint.js'
import type { RateLimit } from '../http/rate-limit.js'
import { callerOf, type Caller } from './caller.js'
import { contactEndpoints } from './contacts.js'
import { conversionEndpoints } from './conversions.js'

export type RestPorts = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly currentStates: CurrentStates
  readonly vault: Vault
  readonly rateLimit: RateLimit
  readonly queries: Queries
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  readonly hasPendingReactions: HasPendingReactions
}

/** The REST API for the customer's own systems (contract 4.1 to 4.5). */
export const restSurface = (ports: RestPorts): Surface<Caller> => ({
  name: 'rest',
  prefix: '/api/v3',
  bodies: ['json'],
  invalidJson: { kind: 'invalid-json' },
  authenticate: callerOf(ports),
  endpoints: [...contactEndpoints(ports), ...conversionEndpoints(ports)],
})
