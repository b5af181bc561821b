import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { orThrow } from '../../../domain/store-failed.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { deliveryFanOut } from '../../../projections/delivery/fan-out/fan-out.js'
import type { WebhookClient } from '../../../projections/delivery/webhook-client.js'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import { deliveryWorker } from '../../../projections/delivery/worker.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import { anyProjection, type AnyProjection } from '../../../projections/projection.js'
import { resends } from '../../../projections/read-models/resends.js'
import { webhookList } from '../../../projections/read-models/lists/webhook-list.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import { webhook } from '../../../domain/webhook.js'
import type { LifeParts } from './lives.js'
import { plainVault } from './plain-vault.js'
import { virtualFollowers, type Execute } from './virtual-followers.js'

/** The parts of the service that deliver, wired as `app/composition` wires them where one process works alone. */
export type VirtualProcess = {
  /** Resolves once the process takes commands. */
  readonly begin: () => Promise<void>
  readonly execute: Execute
}

type ProcessPorts = Omit<LifeParts, 'life'> & {
  readonly webhookClient: WebhookClient
  /** Positions that a follower may advance without saving its checkpoint. */
  readonly unsaved: bigint
}

export const simulatedReadModels: ReadonlyArray<AnyProjection> = [
  anyProjection(deliveries),
  anyProjection(resends),
  anyProjection(webhookList),
]

export const virtualProcess = (ports: ProcessPorts): VirtualProcess => {
  const { store, documents, logger } = ports
  const { commandHandler, monotonic, backoff, following, readModel, reactions, commanding, execute } =
    virtualFollowers(ports)
  const deliveriesFollower = readModel(anyProjection(deliveries))
  const projecting = commanding('delivery_projector', (guarded, checkpoint) =>
    deliveryFanOut({
      hasErasures: () => Promise.resolve(false),
      store,
      documents,
      commandHandler: guarded,
      checkpoint,
      logger,
    }),
  )
  const shownBeside = simulatedReadModels.filter(({ name }) => name !== deliveriesFollower.name).map(readModel)
  const followers = [deliveriesFollower, ...shownBeside, reactions, projecting]
  const worker = deliveryWorker({
    ...ports,
    commandHandler,
    vault: plainVault,
    deliveriesFollower,
    backoff,
    failingWork: failingWork(monotonic),
    currentWebhook: (id) => loadState(commandHandler, webhook, id),
    hasErasures: () => Promise.resolve(false),
    observe: () => undefined,
  })

  return {
    begin: async () => {
      const head = orThrow(await store.head())
      const membership = singleProcessMembership()
      const byName = new Map(followers.map((one) => [one.name, one]))
      membership.share(
        'projector',
        () => [...byName.keys()],
        async (lease) => byName.get(lease.name)?.run(lease),
      )
      membership.share('delivery', () => webhookShards.names, worker.work)
      await Promise.all(followers.map((one) => one.caughtUpHere(head, new AbortController().signal)))
      follow(worker.follower, following)
    },
    execute,
  }
}
