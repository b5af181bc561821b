import { millisecondsOf } from '../../../domain/instant.js'
import type { FollowUpDocument } from '../../../projections/read-models/follow-ups.js'
import { accountNumber } from './accounts.js'
import type { Month } from './month.js'
import { storiesIn, type Story } from './story.js'

/**
 * Steps come in their order and not early, the first always, and each engagement, with its messages, has ended or goes
 * on.
 */
export const stepBreaches = (month: Month): ReadonlyArray<string> =>
  storiesIn(month).flatMap((story) => [
    ...early(story),
    ...skipped(story),
    ...stranded(story, month),
    ...leftOver(story, month),
  ])

const early = ({ begun, overs, person, id, started }: Story): ReadonlyArray<string> => {
  const { steps } = accountNumber(person.account).settings
  return begun.flatMap(({ data: { step }, time }) => {
    const before = step === 0 ? started.data.submitted_at : overs.get(step - 1)?.time
    if (before === undefined) return [`step ${step} of ${id} came before the one before it`]
    const waited = millisecondsOf(time) - millisecondsOf(before)
    const least = (steps[step]?.delay_minutes ?? Infinity) * 60_000
    return waited < least ? [`step ${step} of ${id} came ${least - waited} ms early`] : []
  })
}

/** Only a newer lead, a conversation's end and a blank text may keep the first message back for good. */
const skipped = ({ begun, overs, events, ended, id }: Story): ReadonlyArray<string> => {
  const isBegun = begun.some(({ data }) => data.step === 0) || overs.has(0)
  const isStopped = events.some(({ type }) => type === 'StepsEnded')
  if (isBegun || isStopped || ended?.data.reason !== 'dormant') return []
  return [`${id} was given up without a first message`]
}

const stranded = ({ id, ended }: Story, { followUps }: Month): ReadonlyArray<string> => {
  const shown = followUps.get(id) as FollowUpDocument | undefined
  if (ended !== undefined) return shown?.state === 'ended' ? [] : [`${id} has ended and is not shown so`]
  return shown?.next_at === undefined ? [`${id} is open and has no timer`] : []
}

/** In milliseconds: for so long a provider that does not answer is asked what became of an attempt. */
const longestClosing = 5 * 60_000

/** No message of an engagement that has ended waits for another attempt. */
const leftOver = ({ ended, id, messages }: Story, { events }: Month): ReadonlyArray<string> => {
  const last = events.at(-1)
  if (ended === undefined || last === undefined) return []
  if (millisecondsOf(last.time) - millisecondsOf(ended.time) < longestClosing) return []
  return [...messages].flatMap(([messageId, stream]) =>
    openedBy.has(stream.at(-1)?.type ?? '') ? [`${messageId} of ${id}, which has ended, is open`] : [],
  )
}

const openedBy: ReadonlySet<string> = new Set(['MessageBegun', 'MessageTriedAgain', 'MessageAttemptFailed'])
