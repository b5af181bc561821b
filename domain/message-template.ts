import { refined, Text } from './codec.js'

/** Characters that a field adds to a message at most: vendors send what they like, and every character costs. */
const longestValue = 60

/** The longest text that providers take as one message. */
export const longestMessage = 1_600

/** A text that goes out as it stands. */
export const MessageText = refined(
  `a text of at most ${longestMessage} characters that is not blank`,
  (value): value is string => Text.is(value) && value.length <= longestMessage,
)

const placeholder = /\{\{\s*([a-z][a-z0-9_]*)\s*\}\}/g

/** Stands where a blank value would. No template holds it: see `templateProblem`. */
const blank = '\u0000'

export type FieldValues = { readonly [name: string]: string | undefined }

/** What is wrong with the template of a message, as what it must be; undefined where nothing is. */
export const templateProblem = (template: string, known: ReadonlySet<string>): string | undefined => {
  const names = [...template.matchAll(placeholder)].map(([, name = '']) => name)
  const rest = template.replaceAll(placeholder, '')
  if (names.some((name) => !known.has(name)) || rest.includes('{{') || rest.includes('}}')) {
    return `a text whose {{…}} each hold one of ${[...known].join(', ')}`
  }
  if (/\p{Cc}/u.test(rest.replaceAll('\n', ''))) return 'a text without control characters'
  const longest = rest.length + names.length * longestValue
  return longest > longestMessage
    ? `a text of at most ${longestMessage} characters, where each {{…}} counts as ${longestValue}`
    : undefined
}

/**
 * The message for one lead. A blank or missing value leaves no trace: `Hi {{first_name}}, thanks` becomes `Hi, thanks`, and a sentence
 * that began with one begins with what follows.
 */
export const messageOf = (template: string, values: FieldValues): string =>
  template
    .replaceAll(placeholder, (_, name: string) => shown(values[name]))
    .replaceAll(new RegExp(`\\(\\s*${blank}\\s*\\)|"\\s*${blank}\\s*"|“\\s*${blank}\\s*”`, 'g'), blank)
    .replaceAll(
      new RegExp(`(^|[.!?]\\s+|\\n\\s*)(?:${blank}[\\s,;:]*)+(\\p{Ll})?`, 'gu'),
      (_, before: string, letter: string | undefined) => `${before}${(letter ?? '').toUpperCase()}`,
    )
    .replaceAll(new RegExp(`\\s*${blank}`, 'g'), '')
    .trim()

const shown = (value = ''): string => {
  const text = value.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  // Half of a character would be none.
  return text === ''
    ? blank
    : text
        .slice(0, longestValue)
        .replace(/[\uD800-\uDBFF]$/, '')
        .trimEnd()
}
