import type { EventOf, RecordedEvent } from '../../../domain/events.js'
import type { ContactId, EngagementId, MessageId } from '../../../domain/ids.js'
import { grouped } from '../simulation/grouped.js'
import type { Month } from './month.js'
import type { Person } from './people.js'

export type Event = RecordedEvent

/** All about one engagement: its stream, those of the messages of its steps, and that of its contact, each in order. */
export type Story = {
  readonly id: EngagementId
  readonly started: EventOf<'EngagementStarted'>
  readonly person: Person
  readonly events: ReadonlyArray<Event>
  readonly contact: ReadonlyArray<Event>
  /** What ended a step, by its number. */
  readonly overs: ReadonlyMap<number, Event>
  readonly ended: EventOf<'EngagementEnded'> | undefined
  readonly begun: ReadonlyArray<EventOf<'StepBegun'>>
  /** The streams of the messages of its steps. */
  readonly messages: ReadonlyMap<MessageId, ReadonlyArray<Event>>
}

export const storiesIn = ({ events, people }: Month): ReadonlyArray<Story> => {
  const streams = grouped(events, ({ stream }) => stream)
  const overs = new Map<EngagementId, Map<number, Event>>()
  for (const event of events) {
    if (event.type !== 'MessageSent' && event.type !== 'MessageFailed' && event.type !== 'StepSkipped') continue
    const { engagement_id, step } = event.data
    const known = overs.get(engagement_id) ?? new Map<number, Event>()
    if (step !== undefined) known.set(step, event)
    overs.set(engagement_id, known)
  }
  return events.flatMap((started) => {
    if (started.type !== 'EngagementStarted') return []
    const { engagement_id: id, contact_id } = started.data
    const person = people.get(contact_id)
    if (person === undefined) throw new Error('an engagement of nobody')
    const own = streams.get(started.stream) ?? []
    const begun = own.filter((event) => event.type === 'StepBegun')
    return [
      {
        ...{ id, started, person, events: own, contact: streams.get(`contact-${contact_id}`) ?? [] },
        overs: overs.get(id) ?? new Map<number, Event>(),
        ended: own.find((event) => event.type === 'EngagementEnded'),
        begun,
        messages: new Map(
          begun.map(({ data: { message_id: message } }) => [message, streams.get(`message-${message}`) ?? []]),
        ),
      },
    ]
  })
}

export const byContact = (stories: ReadonlyArray<Story>): ReadonlyMap<ContactId, ReadonlyArray<Story>> =>
  grouped(stories, ({ person }) => person.contactId)

/** Whether the contact had opted out before this time, in milliseconds. */
export const isOptedOutBefore = (contact: ReadonlyArray<Event>, time: string): boolean =>
  contact.reduce((before, event) => {
    if (event.time >= time) return before
    if (event.type === 'ContactOptedOut') return true
    return event.type === 'ContactOptedIn' ? false : before
  }, false)
