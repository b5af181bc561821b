import type { Server } from 'node:http'
import type { Logger } from '../../domain/ports.js'
import { healthSurface, type HealthPorts } from '../http/health.js'
import { metricsSurface } from '../http/metrics-surface.js'
import type { Metrics } from '../http/metrics.js'
import { httpServer, mounted } from '../http/server.js'
import type { IntakePorts } from '../intake/submit-lead.js'
import { intakeSurface } from '../intake/surface.js'
import type { ManagePorts } from '../manage/ports.js'
import { manageSurface } from '../manage/surface.js'
import { restSurface, type RestPorts } from '../rest/surface.js'
import type { Role } from './config.js'

export type SurfacePorts = ManagePorts &
  RestPorts &
  IntakePorts &
  HealthPorts & {
    readonly operatorKey: string
    readonly metrics: Metrics
    readonly logger: Logger
    readonly roles: ReadonlySet<Role>
  }

/** The server of everything that this process answers; what has not the role `api` answers for itself only. */
export const surfaces = (ports: SurfacePorts): Server => {
  const { operatorKey, metrics, logger, roles } = ports
  const api = [
    mounted(restSurface(ports), logger),
    mounted(intakeSurface(ports), logger),
    mounted(manageSurface(ports, operatorKey), logger),
  ]
  const own = [mounted(healthSurface(ports), logger), mounted(metricsSurface(metrics), logger)]
  return httpServer(roles.has('api') ? [...api, ...own] : own, { logger, observe: metrics.request })
}
