import test from 'ava'
import { systemClock } from '../../../../adapters/node/clock.js'
import { reactor } from '../../../../app/commands/reactions/reactor.js'
import type { DomainEvent } from '../../../../domain/events.js'
import type { EngagementId } from '../../../../domain/ids.js'
import { logOf } from '../../../kit/domain/log.js'
import * as samples from '../../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { newEvent } from '../../../kit/domain/new-events.js'

const soldTo = (engagement_id: EngagementId): DomainEvent => ({
  type: 'ConversionRecorded',
  data: {
    record_id: samples.recordId(),
    account_id: samples.accountId(),
    conversion_id: samples.conversionId(),
    title: 'Sold',
    label: 'sold',
    contact_id: samples.contactId(),
    converted_at: samples.at(),
    value: 1,
    engagement_id,
    lead_id: samples.leadId(),
    source_id: samples.sourceId(),
    ends: [engagement_id],
  },
})

const engaged = samples.engagementId(1)
const begun: DomainEvent = { type: 'EngagementStarted', data: samples.attribution({ engagement_id: engaged }) }

test('what follows from a conversion is pending while another process has not yet begun the engagement that it ends, and not where the contact is in no stream', async (t) => {
  const store = memoryEventStore(memoryLog())
  rightOf(await store.append(`engagement-${engaged}`, 'no-stream', [{ ...newEvent(1), ...begun }]))
  const commandHandler = sharedHandler(store, systemClock(1))
  const { react } = reactor({ commandHandler, logger: recordingLogger() })
  const isPendingAfter = async (event: DomainEvent): Promise<boolean> =>
    (await react(logOf([`conversion_record-${samples.recordId()}`, event]))).isPending
  t.true(await isPendingAfter(soldTo(samples.engagementId(2))))
  t.false(await isPendingAfter(soldTo(engaged)))
})
