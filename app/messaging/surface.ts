import { TE } from '../../domain/prelude.js'
import type { TextProvider } from '../../domain/text-provider.js'
import type { Surface } from '../http/endpoint.js'
import { inboundEndpoint, type InboundPorts } from './inbound.js'
import { prefixOf } from './paths.js'
import { reportEndpoint, type ReportPorts } from './reports.js'

export type MessagesPorts = ReportPorts & InboundPorts

/**
 * What the provider of texts posts: what became of a text, and what contacts write. Its signature tells that it is the
 * provider.
 */
export const messagesSurface = (ports: MessagesPorts, provider: TextProvider): Surface<undefined> => ({
  name: 'messages',
  prefix: prefixOf(provider),
  bodies: ['form'],
  invalidJson: { kind: 'invalid-json' },
  authenticate: TE.map(() => undefined),
  endpoints: [reportEndpoint(ports, provider), inboundEndpoint(ports, provider)],
})
