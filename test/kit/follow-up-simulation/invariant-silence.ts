import type { Position } from '../../../domain/event.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { MessageId } from '../../../domain/ids.js'
import { grouped } from '../simulation/grouped.js'
import { accountNumber } from './accounts.js'
import type { Month } from './month.js'
import type { Arrival } from './provider.js'
import { byContact, isOptedOutBefore, storiesIn, type Event, type Story } from './story.js'

/** Nobody is written to who opted out, whose conversation ended or waits for a person, or who has a newer lead. */
export const silenceBreaches = (month: Month): ReadonlyArray<string> => {
  const stories = storiesIn(month)
  const ofContacts = byContact(stories)
  const attempts = grouped(month.arrivals, ({ id }) => id)
  const byMembers = grouped(
    month.events.flatMap((event) =>
      event.type === 'MessageRequested' && event.data.purpose === 'member' ? [event.data] : [],
    ),
    ({ engagement_id }) => engagement_id,
  )
  return stories.flatMap((story) => [
    ...unwanted(story),
    ...ofOlder(story, ofContacts.get(story.person.contactId) ?? []),
    ...lateAttempts(
      story,
      (byMembers.get(story.id) ?? []).map(({ message_id }) => message_id),
      attempts,
    ),
  ])
}

const unwanted = ({ begun, contact, ended, events, id }: Story): ReadonlyArray<string> =>
  begun.flatMap(({ time, position, data: { step } }) => {
    const paused = events.reduce<string | undefined>((until, event) => {
      if (event.position > position) return until
      if (event.type === 'ContactReplied' && (until === undefined || event.data.paused_until > until))
        return event.data.paused_until
      if (event.type === 'EngagementPaused') return event.data.until
      return event.type === 'EngagementResumed' ? undefined : until
    }, undefined)
    return [
      ...(isOptedOutBefore(contact, time) ? [`step ${step} of ${id} went to a contact that opted out`] : []),
      ...(ended !== undefined && ended.position < position ? [`step ${step} of ${id} was begun after its end`] : []),
      ...(paused !== undefined && paused > time ? [`step ${step} of ${id} was begun while a person answers`] : []),
    ]
  })

/**
 * Where a process crashed before it began, it has the time of its lead, and its place behind what was sent meanwhile.
 */
const isOpenAt = ({ started, ended }: Story, { time, position }: Pick<Event, 'time' | 'position'>): boolean =>
  started.time < time && started.position < position && (ended === undefined || ended.time >= time)

/** Much may happen in one moment: the order of the log tells what was known. */
const wasFilteredBefore = ({ ended }: Story, position: Position): boolean =>
  ended?.data.reason === 'filtered' && ended.position < position

/** Of a contact's open engagements only the newest sends, and it does. */
const ofOlder = ({ begun, started, id, events }: Story, siblings: ReadonlyArray<Story>): ReadonlyArray<string> => {
  const newer = siblings.filter((one) => one.started.position > started.position)
  const sent = begun.filter((step) => newer.some((one) => isOpenAt(one, step)))
  const stopped = events.filter(({ type }) => type === 'StepsEnded')
  const needless = stopped.filter(
    ({ position }) => !newer.some((one) => one.started.position < position && !wasFilteredBefore(one, position)),
  )
  return [
    ...sent.map(({ data: { step } }) => `step ${step} of ${id} was begun beside a newer one`),
    ...needless.map(() => `the steps of ${id} ended without a newer one`),
  ]
}

/** What is tried, a step or what a member wrote, has just been decided, in an engagement that is open. */
const lateAttempts = (
  { ended, events, id, started }: Story,
  byMembers: ReadonlyArray<MessageId>,
  attempts: ReadonlyMap<MessageId, ReadonlyArray<Arrival>>,
): ReadonlyArray<string> => {
  const ids = new Set(events.flatMap((event) => (event.type === 'StepBegun' ? [event.data.message_id] : [])))
  if (accountNumber(1).settings.steps.length < ids.size) return [`${id} has too many messages`]
  if (ended === undefined) return []
  const end = millisecondsOf(ended.time)
  // What ends it may be recorded at the time of its cause by a process that takes over from one that crashed in
  // between.
  return [...ids, ...byMembers]
    .flatMap((message) => attempts.get(message) ?? [])
    .filter(({ time, head }) => time > end && head >= ended.position)
    .map(({ time }) => `${id} of ${started.time} was written to ${time - end} ms after its end`)
}
