import { webhookClient } from '../../../adapters/webhook/client.js'
import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { resolve } from './rows.js'

/** A process that posts the requests of its argument, one after the other, and says how they ended. */
const requests = JSON.parse(process.argv[2] ?? '[]') as ReadonlyArray<WebhookRequest>
const client = webhookClient({ allowPrivate: true, resolve })
const responses: Array<WebhookResponse> = []
for (const request of requests) responses.push(await client.send(request, new AbortController().signal))
client.close()
process.stdout.write(JSON.stringify(responses))
