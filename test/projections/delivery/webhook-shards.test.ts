import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import type { WebhookId } from '../../../domain/ids.js'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { webhookId } from '../../kit/domain/samples.js'

const ids = randomIds(manualClock())
/** As the management API makes them: the ids of one millisecond follow each other. */
const madeAtOnce = (count: number): ReadonlyArray<WebhookId> =>
  Array.from({ length: count }, (): WebhookId => `whk_${ids.ulid()}`)
/** Each made by a generator of its own, as in another process or at another time. */
const madeApart = (count: number): ReadonlyArray<WebhookId> =>
  Array.from({ length: count }, (): WebhookId => `whk_${randomIds(manualClock()).ulid()}`)

const counted = (webhooks: ReadonlyArray<WebhookId>): ReadonlyArray<number> => {
  const counts = new Map(webhookShards.names.map((shard) => [shard, 0]))
  for (const webhook of webhooks)
    counts.set(webhookShards.of(webhook), (counts.get(webhookShards.of(webhook)) ?? Number.NaN) + 1)
  return [...counts.values()]
}

test('there are 64 shards, each with a name of its own', (t) => {
  t.is(webhookShards.names.length, 64)
  t.is(new Set(webhookShards.names).size, 64)
})

test('every webhook lies in one of the shards, whatever its id', (t) => {
  for (const webhook of [...madeApart(100), ...Array.from({ length: 100 }, (_, n) => webhookId(n))]) {
    t.true(webhookShards.names.includes(webhookShards.of(webhook)), webhook)
  }
})

for (const [name, made] of Object.entries({ 'at once': madeAtOnce, 'apart from each other': madeApart })) {
  test(`webhooks that were made ${name} spread over all shards evenly`, (t) => {
    const each = 200
    const counts = counted(made(each * webhookShards.names.length))
    // About five standard deviations to either side.
    t.true(Math.min(...counts) > each - 75, `${Math.min(...counts)}`)
    t.true(Math.max(...counts) < each + 75, `${Math.max(...counts)}`)
  })
}

test('a webhook stays in its shard: processes of two versions agree about it', (t) => {
  t.is(webhookShards.of('whk_01KEZ4V0RGABCDEFGHJKMNPQRS'), 'webhooks_17')
  t.is(webhookShards.of(webhookId(1)), 'webhooks_38')
  t.is(webhookShards.of(webhookId(2)), 'webhooks_39')
})
