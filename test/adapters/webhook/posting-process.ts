import { webhookSender } from '../../../adapters/webhook/sender.js'
import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/webhook-sender.js'
import { resolve } from './rows.js'

/** A process that posts the requests of its argument, one after the other, and says how they ended. */
const requests = JSON.parse(process.argv[2] ?? '[]') as ReadonlyArray<WebhookRequest>
const sender = webhookSender({ allowPrivate: true, resolve })
const responses: Array<WebhookResponse> = []
for (const request of requests) responses.push(await sender.send(request, new AbortController().signal))
sender.close()
process.stdout.write(JSON.stringify(responses))
