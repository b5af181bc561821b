import type { Surface } from '../http/endpoint.js'
import { accountEndpoints } from './accounts/accounts.js'
import { apiKeyEndpoints } from './accounts/api-keys.js'
import { timelineEndpoints } from './contacts/timeline.js'
import { conversionDefinitionEndpoints } from './sources/conversions.js'
import { deliveryEndpoints } from './webhooks/deliveries.js'
import { engagementEndpoints } from './contacts/engagements.js'
import { marketingSourceEndpoints } from './sources/marketing-sources.js'
import { memberEndpoints } from './accounts/members.js'
import { operatorOf, type Operator } from './operator.js'
import { playbookEndpoints } from './sources/playbooks.js'
import type { ManagePorts } from './ports.js'
import { resendEndpoints } from './webhooks/resends.js'
import { webhookEndpoints } from './webhooks/webhooks.js'

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
