import { refusingUnknown, type Surface } from '../http/endpoint.js'
import { accountEndpoints } from './accounts/accounts.js'
import { apiKeyEndpoints } from './accounts/api-keys.js'
import { memberEndpoints } from './accounts/members.js'
import { messagingEndpoints } from './accounts/messaging.js'
import { usageEndpoints } from './accounts/usage.js'
import { engagementEndpoints } from './contacts/engagements.js'
import { erasureEndpoints } from './contacts/erasure.js'
import { followUpEndpoints } from './contacts/follow-ups.js'
import { memberMessageEndpoints } from './contacts/member-messages.js'
import { messageEndpoints } from './contacts/messages.js'
import { timelineEndpoints } from './contacts/timeline.js'
import { eventEndpoints } from './log/events.js'
import { operatorOf, type Operator } from './operator.js'
import { parkedEventEndpoints } from './log/parked-events.js'
import { rebuildEndpoints } from './log/rebuilds.js'
import type { ManagePorts } from './ports.js'
import { conversionDefinitionEndpoints } from './setup/conversions.js'
import { marketingSourceEndpoints } from './setup/marketing-sources.js'
import { playbookPreviewEndpoints } from './setup/playbook-preview.js'
import { playbookEndpoints } from './setup/playbooks.js'
import { deliveryEndpoints } from './webhooks/deliveries.js'
import { resendEndpoints } from './webhooks/resends.js'
import { signingSecretEndpoints } from './webhooks/signing-secrets.js'
import { testSendEndpoints } from './webhooks/test-send.js'
import { turningOnEndpoints } from './webhooks/turning-on.js'
import { webhookEndpoints } from './webhooks/webhooks.js'

/** What whoever runs the service, and their scripts, use. There is no dashboard yet: it would use this. */
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
    ...messagingEndpoints(ports),
    ...usageEndpoints(ports),
    ...playbookEndpoints(ports),
    ...playbookPreviewEndpoints(ports),
    ...marketingSourceEndpoints(ports),
    ...conversionDefinitionEndpoints(ports),
    ...webhookEndpoints(ports),
    ...signingSecretEndpoints(ports),
    ...testSendEndpoints(ports),
    ...turningOnEndpoints(ports),
    ...deliveryEndpoints(ports),
    ...resendEndpoints(ports),
    ...engagementEndpoints(ports),
    ...timelineEndpoints(ports),
    ...messageEndpoints(ports),
    ...memberMessageEndpoints(ports),
    ...followUpEndpoints(ports),
    ...erasureEndpoints(ports),
    ...parkedEventEndpoints(ports),
    ...eventEndpoints(ports),
    ...rebuildEndpoints(ports),
  ].map(refusingUnknown),
})
