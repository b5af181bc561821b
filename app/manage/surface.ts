import type { Surface } from '../http/endpoint.js'
import { accountEndpoints } from './accounts.js'
import { apiKeyEndpoints } from './api-keys.js'
import { timelineEndpoints } from './contacts.js'
import { conversionDefinitionEndpoints } from './conversions.js'
import { deliveryEndpoints } from './deliveries.js'
import { engagementEndpoints } from './engagements.js'
import { marketingSourceEndpoints } from './marketing-sources.js'
import { memberEndpoints } from './members.js'
import { operatorOf, type Operator } from './operator.js'
import { playbookEndpoints } from './playbooks.js'
import type { ManagePorts } from './ports.js'
import { resendEndpoints } from './resends.js'
import { webhookEndpoints } from './webhooks.js'

/** What the dashboard and scripts use (design, section 8). */
export const manageSurface = (ports: ManagePorts, operatorKey: string): Surface<Operator> => ({
  name: 'manage',
  prefix: '/manage/v1',
  bodies: ['json'],
  invalidJson: { kind: 'invalid-json' },
  authenticate: operatorOf(operatorKey),
  endpoints: [
    ...accountEndpoints(ports),
    ...apiKeyEndpoints(ports),
    ...memberEndpoints(ports),
    ...playbookEndpoints(ports),
    ...marketingSourceEndpoints(ports),
    ...conversionDefinitionEndpoints(ports),
    ...webhookEndpoints(ports),
    ...deliveryEndpoints(ports),
    ...resendEndpoints(ports),
    ...engagementEndpoints(ports),
    ...timelineEndpoints(ports),
  ],
})
