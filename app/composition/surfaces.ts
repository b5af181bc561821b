import type { Logger } from '../../domain/ports.js'
import type { TextProvider } from '../../domain/text-provider.js'
import { healthSurface, type HealthPorts } from '../http/monitoring/health.js'
import { metricsSurface, type Metrics } from '../http/monitoring/metrics.js'
import { routesOf, type Routes } from '../http/server.js'
import { linksSurface } from '../messaging/links.js'
import { messagesSurface, type MessagesPorts } from '../messaging/surface.js'
import { intakeSurface, type IntakePorts } from '../intake/surface.js'
import type { ManagePorts } from '../manage/ports.js'
import { manageSurface } from '../manage/surface.js'
import { restSurface, type RestPorts } from '../rest/surface.js'
import type { Queries } from '../../projections/queries.js'
import { contacts } from '../../projections/read-models/contacts.js'
import { messages } from '../../projections/read-models/messages.js'
import type { ProcessRole } from './config.js'
import { followerOf, type Followers } from './followers.js'

type SurfacePorts = ManagePorts &
  RestPorts &
  IntakePorts &
  HealthPorts &
  Omit<MessagesPorts, 'unplaced' | 'readModelFollowers'> & {
    readonly textProvider: TextProvider | undefined
    readonly readModels: Followers['readModels']
    /** For who writes nothing, or waits for read models by itself. */
    readonly queriesAtOnce: Queries
    readonly operatorKey: string
    readonly metrics: Metrics
    readonly logger: Logger
    readonly roles: ReadonlySet<ProcessRole>
  }

/** Everything that this process answers; what has not the role `api` answers for itself only. */
export const surfaces = (ports: SurfacePorts): ReadonlyArray<Routes> => {
  const { operatorKey, metrics, logger, roles, textProvider, readModels, queriesAtOnce } = ports
  const shown = ({ name }: { readonly name: string }) => followerOf(readModels, name)
  const texting = { ...ports, unplaced: metrics.unplaced, readModelFollowers: [shown(contacts), shown(messages)] }
  const api = [
    routesOf(restSurface(ports), logger),
    routesOf(intakeSurface(ports), logger),
    routesOf(manageSurface(ports, operatorKey), logger),
    routesOf(linksSurface({ ...ports, queries: queriesAtOnce, readModelFollower: shown(messages) }), logger),
    ...(textProvider === undefined ? [] : [routesOf(messagesSurface(texting, textProvider), logger)]),
  ]
  const own = [routesOf(healthSurface(ports), logger), routesOf(metricsSurface(metrics), logger)]
  return roles.has('api') ? [...api, ...own] : own
}
