import type { Clock, CommandHandler, Ids, Vault } from '../../domain/ports.js'
import type { SenderOptOuts } from '../../projections/from-streams/sender-opt-outs.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { Surface } from '../http/endpoint.js'
import type { RateLimit } from '../http/rate-limit.js'
import { acceptingSourceOf, type AcceptingSource } from './accepting-source.js'
import { submitLead } from './submit-lead.js'

export type IntakePorts = {
  readonly commandHandler: Pick<CommandHandler, 'execute' | 'load'>
  readonly currentStates: CurrentStates
  readonly clientCommands: ClientCommands
  readonly vault: Vault
  readonly ids: Ids
  readonly clock: Clock
  readonly verifiesConsents: boolean
  readonly senderOptOuts: SenderOptOuts
  readonly rateLimit: RateLimit
}

/** The post URL of a marketing source (contract 4.6). */
export const intakeSurface = (ports: IntakePorts): Surface<AcceptingSource> => ({
  name: 'intake',
  prefix: '/marketing_sources',
  bodies: ['json', 'form'],
  invalidJson: { kind: 'invalid', messages: ['the body is not valid JSON'] },
  authenticate: acceptingSourceOf(ports),
  endpoints: [{ method: 'POST', path: '/:account_id/:source_id', handle: submitLead(ports) }],
})
