import type { Surface } from '../http/endpoint.js'
import { openSource, submitLead, type IntakePorts, type OpenSource } from './submit-lead.js'

/** The post URL of a marketing source (contract 4.6). */
export const intakeSurface = (ports: IntakePorts): Surface<OpenSource> => ({
  name: 'intake',
  prefix: '/marketing_sources',
  bodies: ['json', 'form'],
  invalidJson: { kind: 'invalid', messages: ['the body is not valid JSON'] },
  authenticate: openSource(ports),
  endpoints: [{ method: 'POST', path: '/:account_id/:source_id', handle: submitLead(ports) }],
})
