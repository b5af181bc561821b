import type { EngagementId, MessageId } from '../../../domain/ids.js'
import type { Taken } from '../../twilio-double/double.js'
import { grouped } from '../simulation/grouped.js'
import type { StoredEvent } from './streams.js'

/** What a log says of the messages of all engagements. */
type MessageStory = {
  readonly leads: ReadonlySet<EngagementId>
  readonly ended: ReadonlySet<EngagementId>
  /** By step and engagement. */
  readonly steps: ReadonlyMap<string, MessageId>
  readonly tries: ReadonlyMap<MessageId, number>
  readonly endings: ReadonlyMap<MessageId, ReadonlyArray<string>>
  /** What stands there once too often, or after the end of its engagement, or was parked. */
  readonly problems: ReadonlyArray<string>
}

export const messageStory = (events: ReadonlyArray<StoredEvent>): MessageStory => {
  const leads = new Set<EngagementId>()
  const ended = new Set<EngagementId>()
  const steps = new Map<string, MessageId>()
  const tries = new Map<MessageId, number>()
  const endings = new Map<MessageId, Array<string>>()
  const problems: Array<string> = []
  const over = (id: MessageId, how: string): void => void endings.set(id, [...(endings.get(id) ?? []), how])
  for (const event of events) {
    if (event.type === 'LeadSubmitted') leads.add(event.data.engagement_id)
    if (event.type === 'EngagementEnded') ended.add(event.data.engagement_id)
    if (event.type === 'StepBegun' && ended.has(event.data.engagement_id))
      problems.push(`step ${event.data.step} of ${event.data.engagement_id} was begun after its end`)
    if (event.type === 'MessageBegun') {
      const step = stepOf(event.data.step ?? -1, event.data.engagement_id)
      if (steps.has(step)) problems.push(`${step} was begun twice`)
      steps.set(step, event.data.message_id)
    }
    if (event.type === 'MessageBegun' || event.type === 'MessageTriedAgain')
      tries.set(event.data.message_id, (tries.get(event.data.message_id) ?? 0) + 1)
    if (event.type === 'MessageSent') over(event.data.message_id, 'sent')
    if (event.type === 'MessageFailed') over(event.data.message_id, event.data.kind)
    if (event.type === 'EventParked') problems.push(`something was parked: ${JSON.stringify(event.data)}`)
  }
  return { leads, ended, steps, tries, endings, problems }
}

export const stepOf = (step: number, engagement: EngagementId): string => `step ${step} of ${engagement}`

/**
 * The messages that the provider has more or less often than the log tells: once where it was sent, at most once where
 * nobody could tell. Of one whose engagement ended meanwhile nobody may have asked.
 */
export const wronglySent = (
  { tries, endings }: MessageStory,
  taken: ReadonlyArray<Taken>,
  endedMeanwhile: ReadonlySet<MessageId> = new Set(),
): ReadonlyArray<string> => {
  const times = grouped(taken, ({ form }) => (form.get('StatusCallback') ?? '').split('/').at(-1) ?? '')
  const unknown = [...times.keys()].filter((id) => !tries.has(id as MessageId))
  const wrong = [...tries].flatMap(([id, attempts]) => {
    const count = times.get(id)?.length ?? 0
    const [how = 'never over', ...more] = endings.get(id) ?? []
    const mayBeLost = how === 'unknown' || endedMeanwhile.has(id)
    const isRight = more.length === 0 && ((how === 'sent' && count === 1) || (mayBeLost && count <= 1))
    return isRight ? [] : [`${id}: taken ${count} times in ${attempts} tries, and ${[how, ...more].join()}`]
  })
  return [...wrong, ...unknown]
}
