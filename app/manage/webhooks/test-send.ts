import { activityLabels, type ActivityLabel } from '../../../domain/activity.js'
import { E, flow, type TaskEither } from '../../../domain/prelude.js'
import type { KnownWebhook, WebhookSettings } from '../../../domain/webhook.js'
import { samplePayloadOf } from '../../../projections/delivery/fan-out/payload.js'
import { unsealable, type WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { signedRequest } from '../../../projections/delivery/attempts/signed-request.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind, check, withoutFields } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { withWebhook } from './webhook-in-path.js'

/** Limited, because a test is posted at once to whatever URL is saved, and could flood it. */
const testsPerMinute = 10

/** Sending a sample to a webhook, to see that it arrives (contract 6.5). */
export const testSendEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/webhooks/:webhook_id/test',
    handle: flow(
      withWebhook(ports),
      withoutFields(),
      check(({ webhook }) => ports.rateLimit.consume(`test/${webhook.webhookId}`, testsPerMinute)),
      bind('response', ({ webhook }) => sendSample(ports, webhook)),
      answer(200, ({ response: { delivered, status, reason } }) => ({
        delivered,
        status,
        error: delivered ? null : reason,
      })),
    ),
  },
]

/** All are wanted where none is picked, and where each of them is. */
const sampleLabelOf = ({ events }: WebhookSettings): ActivityLabel => {
  const [first = 'started'] = events
  return activityLabels.every((label) => events.includes(label)) ? 'started' : first
}

const sendSample =
  (ports: ManagePorts, webhook: KnownWebhook): TaskEither<never, WebhookResponse> =>
  async () => {
    const body = samplePayloadOf(webhook.settings.format, sampleLabelOf(webhook.settings))
    const sample = signedRequest(ports, webhook, `test_${ports.ids.ulid()}`, body)
    return E.right(
      E.isLeft(sample) ? unsealable : await ports.webhookClient.send(sample.right, new AbortController().signal),
    )
  }
