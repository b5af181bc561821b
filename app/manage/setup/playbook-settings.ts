import { FieldName, NaturalNumber, objectWith, optional, refined, t, Text, Title } from '../../../domain/codec.js'
import { E } from '../../../domain/prelude.js'
import { ReplyOutcome, Weekday, type PlaybookSettings } from '../../../domain/playbook-settings.js'
import { mostRequiredFields } from '../../../domain/submission.js'

const TimeOfDay = refined(
  'a time of day, HH:MM',
  (value): value is string => typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(value),
)

/** Minutes of a year: what would wait longer was forgotten. */
const longestWait = 365 * 24 * 60

const Minutes = refined(
  `a whole number of minutes from 0 to ${longestWait}`,
  (value): value is number => NaturalNumber.is(value) && value <= longestWait,
)

const Step = objectWith({ message: Text, delay_minutes: Minutes })

const wordName = 'a word or phrase with a letter or a digit'
const Word = Title.pipe(
  refined(wordName, (value): value is string => typeof value === 'string' && /[\p{L}\p{N}]/u.test(value)),
  wordName,
)

/**
 * What a preview, a reply or a lead costs grows with the playbook, and other accounts wait meanwhile. What was stored
 * before there was a limit goes on as it is.
 */
const listOf = <A>(
  item: t.Type<A, unknown>,
  name: string,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): t.Type<ReadonlyArray<A>, unknown> =>
  t.readonlyArray(item, name).pipe(
    refined(
      name,
      (value): value is ReadonlyArray<A> => Array.isArray(value) && value.length >= least && value.length <= most,
    ),
    name,
  )

const Words = listOf(Word, 'a list of 1 to 100 words', { least: 1, most: 100 })

const ReplyRule = objectWith({ words: Words, outcome: ReplyOutcome })

const FieldNames = listOf(FieldName, `a list of at most ${mostRequiredFields} field names`, {
  most: mostRequiredFields,
})

const settings = {
  required_fields: optional(FieldNames),
  steps: optional(listOf(Step, 'a list of at most 50 steps', { most: 50 })),
  reply_rules: optional(listOf(ReplyRule, 'a list of at most 100 reply rules', { most: 100 })),
  days: optional(t.readonlyArray(Weekday, 'a list of days of the week')),
  give_up_after_minutes: optional(Minutes),
}

const Hours = objectWith({ from: TimeOfDay, to: TimeOfDay })
type Hours = t.TypeOf<typeof Hours>

const OtherTime = refined('another time than from', (_): _ is never => false)

/** Where both times are the same nobody can tell whether all day is meant or never. */
const DistinctHours = new t.Type<Hours, Hours, unknown>(
  Hours.name,
  (value): value is Hours => Hours.is(value) && value.from !== value.to,
  (value, context) => {
    const hours = Hours.validate(value, context)
    if (E.isLeft(hours) || hours.right.from !== hours.right.to) return hours
    return t.failure(hours.right.to, t.appendContext(context, 'to', OtherTime))
  },
  t.identity,
)

/** Null means that there are none. */
const Quiet = t.union([t.null, t.undefined, DistinctHours], 'quiet hours or null')

export const NewPlaybook = objectWith({ title: Title, quiet_hours: Quiet, ...settings })
export const PlaybookChange = objectWith({ title: optional(Title), quiet_hours: Quiet, ...settings })

/** The settings that a request names. */
export const sentSettings = (request: t.TypeOf<typeof PlaybookChange>): Partial<PlaybookSettings> =>
  Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
