import type { Clock, CommandHandler, EventStore, Ids, Logger, Vault } from '../../domain/ports.js'
import type { WebhookClient } from '../../projections/delivery/webhook-client.js'
import type { PlaybookVersions } from '../../projections/from-streams/playbook-versions.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { Erasures } from '../commands/erasure/erasure-end.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { RateLimit } from '../http/rate-limit.js'
import type { Queries } from '../../projections/queries.js'
import type { Rebuilds } from '../../projections/subscriptions/online-rebuilds.js'

/** What the management API works with. */
export type ManagePorts = {
  readonly store: EventStore
  readonly commandHandler: CommandHandler
  readonly clientCommands: ClientCommands
  readonly currentStates: CurrentStates
  readonly erasures: Erasures
  readonly queries: Queries
  readonly playbookAt: PlaybookVersions
  readonly rebuilds: Rebuilds
  readonly vault: Vault
  readonly ids: Ids
  readonly clock: Clock
  readonly logger: Logger
  /** What texts are sent from where an account has no sender of its own; undefined: then they are kept. */
  readonly sharedSender: string | undefined
  /** Posts tests to webhooks. */
  readonly webhookClient: WebhookClient
  readonly rateLimit: RateLimit
  /** Aborts when the service begins to stop: answers that go on until then end. */
  readonly draining: AbortSignal
  /** The service's host root, without a slash at the end (contract 4.6). */
  readonly siteUrl: () => string
  /** Whether a service is asked about each consent. */
  readonly verifiesConsents: boolean
  /** What is wrong with a webhook's URL; undefined when nothing is. */
  readonly webhookUrlProblem: (url: string) => Promise<string | undefined>
}
