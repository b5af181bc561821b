import * as t from 'io-ts'
import { E, type Either } from './prelude.js'

export { t }

/** A failed check: where and what was expected, never the value, which may be personal. */
export type Mismatch = { readonly path: string; readonly expected: string }

/** Decodes `value`; a failure lists every mismatch with its dotted path (`conversion_contact.contact_id`). */
export const decode = <A>(codec: t.Decoder<unknown, A>, value: unknown): Either<ReadonlyArray<Mismatch>, A> => {
  const decoded = codec.decode(value)
  return decoded._tag === 'Right' ? decoded : E.left(mismatches(decoded.left))
}

/**
 * The dotted paths of the fields that were sent and that decoding has left out: those of which an exact codec knows
 * nothing.
 */
export const undecodedFields = (sent: unknown, decoded: unknown, path = ''): ReadonlyArray<string> => {
  if (sent === decoded || !isObject(sent) || !isObject(decoded)) return []
  return Object.entries(sent).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`
    return Object.hasOwn(decoded, name) ? undecodedFields(value, decoded[name], at) : [at]
  })
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const mismatches = (errors: t.Errors): ReadonlyArray<Mismatch> => {
  const byPath = new Map<string, Mismatch>()
  // Where one alternative failed further in, that says more than that the others did not fit at all.
  const outer = new Set<string>()
  for (const { context } of errors) {
    const entries = context.filter((_, index) => !isAlternative(context[index - 1]))
    const keys = entries.map(({ key }) => key).filter((key) => key !== '')
    const path = keys.join('.')
    const expected = entries.at(-1)?.type.name ?? 'a value'
    if (!byPath.has(path)) byPath.set(path, { path, expected })
    for (let inner = keys.length - 1; inner > 0; inner -= 1) outer.add(keys.slice(0, inner).join('.'))
  }
  return [...byPath.values()].filter(({ path }) => !outer.has(path))
}

/** The members of a union or an intersection stand in the context under numbers, which are no part of the path. */
const isAlternative = (parent: t.ContextEntry | undefined): boolean =>
  parent !== undefined && (parent.type instanceof t.UnionType || parent.type instanceof t.IntersectionType)

/** A codec for the values of `A` that `accepts` lets through unchanged; `name` completes "must be …". */
export const refined = <A>(name: string, accepts: (value: unknown) => value is A): t.Type<A, A> =>
  new t.Type<A, A, unknown>(
    name,
    accepts,
    (value, context) => (accepts(value) ? t.success(value) : t.failure(value, context)),
    t.identity,
  )

/** A codec for these texts alone. */
export const oneOf = <A extends string>(texts: ReadonlyArray<A>, name: string): t.Type<A> => {
  const keys = Object.fromEntries(texts.map((text) => [text, null])) as Record<A, null>
  return t.keyof(keys, name)
}

/**
 * A codec that reads text: `read` gives what it stands for, if anything. Without `is` it only decodes, and takes no
 * value for its own.
 */
export const fromText = <A>(
  name: string,
  read: (text: string) => A | undefined,
  is: (value: unknown) => value is A = (_): _ is A => false,
): t.Type<A, A> =>
  new t.Type<A, A, unknown>(
    name,
    is,
    (value, context) => {
      const found = typeof value === 'string' ? read(value) : undefined
      return found === undefined ? t.failure(value, context) : t.success(found)
    },
    t.identity,
  )

/** Text that holds more than white space; surrounding white space is cut off. */
export const Text = new t.Type<string, string, unknown>(
  'a text that is not blank',
  (value): value is string => typeof value === 'string' && value.trim() !== '',
  (value, context) => {
    const text = typeof value === 'string' ? value.trim() : ''
    return text === '' ? t.failure(value, context) : t.success(text)
  },
  t.identity,
)

/** A text of at most so many characters. */
const shortText = (longest: number): t.Type<string> => {
  const Short = refined(
    `a text of at most ${longest.toLocaleString('en-US')} characters`,
    (value): value is string => typeof value === 'string' && value.trim().length <= longest,
  )
  return new t.Type<string, string, unknown>(
    Text.name,
    (value): value is string => Text.is(value) && Short.is(value),
    (value, context) => {
      if (Short.is(value)) return Text.validate(value, context)
      const entry = context.at(-1)
      const isTooLong = typeof value === 'string' && entry !== undefined
      return t.failure(value, isTooLong ? [...context.slice(0, -1), { ...entry, type: Short }] : context)
    },
    t.identity,
  )
}

/** A text that events carry along, so that their size has a bound. */
export const Title = shortText(1_000)

/** What a setting calls a field of leads. */
export const FieldName = shortText(200)

/** A whole number from 0 to 2^53-1. `t.number` would accept NaN. */
export const NaturalNumber = refined(
  'a whole number that is zero or more',
  (value): value is number => Number.isSafeInteger(value) && (value as number) >= 0,
)

/** As `codec`, where null stands for a field that was not sent. */
export const optional = <A>(codec: t.Type<A, unknown>): t.Type<A | undefined, unknown> =>
  new t.Type<A | undefined, unknown, unknown>(
    codec.name,
    (value): value is A | undefined => value === undefined || codec.is(value),
    (value, context) => (value === undefined || value === null ? t.success(undefined) : codec.validate(value, context)),
    (value) => (value === undefined ? undefined : codec.encode(value)),
  )

/** An object with these fields, and no others. */
export const objectWith = <Fields extends t.Props>(fields: Fields): t.ExactC<t.TypeC<Fields>> =>
  t.strict(fields, `an object with ${Object.keys(fields).join(', ')}`)

/** A map, which JSON holds as an array of pairs. */
export const mapOf = <Key, Value>(
  key: t.Type<Key, unknown>,
  value: t.Type<Value, unknown>,
): t.Type<ReadonlyMap<Key, Value>, unknown> =>
  collected(
    'a map',
    t.tuple([key, value]),
    (all): all is ReadonlyMap<Key, Value> => all instanceof Map,
    (pairs) => new Map(pairs),
  )

/** A set, which JSON holds as an array. */
export const setOf = <A>(member: t.Type<A, unknown>): t.Type<ReadonlySet<A>, unknown> =>
  collected(
    'a set',
    member,
    (all): all is ReadonlySet<A> => all instanceof Set,
    (members) => new Set(members),
  )

const collected = <Item, All extends Iterable<Item>>(
  name: string,
  item: t.Type<Item, unknown>,
  isAll: (value: unknown) => value is All,
  from: (items: ReadonlyArray<Item>) => All,
): t.Type<All, unknown> => {
  const items = t.readonlyArray(item)
  return new t.Type<All, unknown, unknown>(
    name,
    (value): value is All => isAll(value) && items.is([...value]),
    (value, context) => {
      const decoded = items.validate(value, context)
      return E.isLeft(decoded) ? decoded : t.success(from(decoded.right))
    },
    (all) => items.encode([...all]),
  )
}
