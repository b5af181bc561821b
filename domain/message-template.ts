import { refined, Text } from './codec.js'
import type { LeadDetails } from './lead.js'
import { linkTarget, mostLinks } from './tracked-link.js'

/** Characters that a field adds to a message at most: vendors send what they like, and every character costs. */
const longestValue = 60

/** What a tracked link, with the address of the service before it, counts as. */
const linkLength = 100

/** The longest text that providers take as one message. */
export const longestMessage = 1_600

/** A text that goes out as it stands. */
export const MessageText = refined(
  `a text of at most ${longestMessage} characters that is not blank`,
  (value): value is string => Text.is(value) && value.length <= longestMessage,
)

/** Vendors name their fields as they like. */
const fieldName = '[^\\s{}:]+'

const placeholder = new RegExp(`\\{\\{\\s*(${fieldName})\\s*\\}\\}`, 'g')

/** One, or several with commas between them, as in an address. */
const list = new RegExp(`${placeholder.source}(?:,\\s*${placeholder.source})*`, 'g')

/** Behind a name stands the comma of a salutation: `Hi {{first_name}}, {{account}} here`. */
const salutation = /^\{\{\s*(?:first|last)_name\s*\}\}/

const canBeNamed = (name: string): boolean => new RegExp(`^${fieldName}$`).test(name)

/** `{{link:https://…}}`: a link whose opening is noticed. */
const link = /\{\{\s*link:\s*([^\s{}]+)\s*\}\}/g

/** Stands where a blank value would. No template holds it: see `templateProblem`. */
const blank = '\u0000'

export type FieldValues = { readonly [name: string]: string | undefined }

/** What a template may name. */
export const fieldsOf = ({ first_name, last_name, email, phone, additional_info }: LeadDetails): FieldValues => ({
  ...additional_info,
  first_name,
  last_name,
  email,
  phone,
})

/** What is wrong with the template of a message, as what it must be; undefined where nothing is. */
export const templateProblem = (template: string, known: ReadonlySet<string>): string | undefined => {
  const links = linksIn(template)
  if (links.some((url) => linkTarget(url) === undefined))
    return 'a text whose {{link:…}} each hold an http or https URL'
  if (links.length > mostLinks) return `a text with at most ${mostLinks} links`
  const withoutLinks = template.replaceAll(link, '')
  const names = [...withoutLinks.matchAll(placeholder)].map(([, name = '']) => name)
  const rest = withoutLinks.replaceAll(placeholder, '')
  if (names.some((name) => !known.has(name)) || rest.includes('{{') || rest.includes('}}')) {
    return `a text whose {{…}} each hold one of ${[...known].filter(canBeNamed).join(', ')}, or link: and a URL`
  }
  if (/\p{Cc}/u.test(rest.replaceAll('\n', ''))) return 'a text without control characters'
  const longest = rest.length + names.length * longestValue + links.length * linkLength
  return longest > longestMessage
    ? `a text of at most ${longestMessage} characters, where each {{…}} counts as ${longestValue}, a link as ${linkLength}`
    : undefined
}

/** Where the links of a message lead to, in their order. */
export const linksIn = (template: string): ReadonlyArray<string> =>
  [...template.matchAll(link)].map(([, url = '']) => url)

/**
 * The message for one lead, with `linkAt` for the URL of its `index`-th link. A blank or missing value leaves no trace:
 * `Hi {{first_name}}, thanks` becomes `Hi, thanks`, and a sentence that began with one begins with what follows.
 */
export const messageOf = (template: string, values: FieldValues, linkAt: (index: number) => string): string => {
  let count = 0
  const nextLink = (): string => {
    count += 1
    return linkAt(count - 1)
  }
  const valueOf = (_: string, name: string): string => {
    const value = oneLine(Object.hasOwn(values, name) ? values[name] : '')
    return shown(mayHoldAddress(name, value) ? value : withoutAddress(value))
  }
  const filled = template.replaceAll(link, nextLink).replaceAll(list, (fields) => {
    const parts = fields.split(/(?<=\}\}),\s*/).map((field) => field.replaceAll(placeholder, valueOf))
    const kept = parts.filter((part) => part !== blank)
    if (kept.length === parts.length || salutation.test(fields)) return fields.replaceAll(placeholder, valueOf)
    return kept.length === 0 ? blank : kept.join(', ')
  })
  return withoutBlanks(filled).trim()
}

const blanks = `(?:\\s*${blank})+`

const enclosed = new RegExp(
  ['()', '[]', '""', '“”', '‘’', '«»', '**', '__']
    .map(([open = '', close = '']) => `\\${open}${blanks}\\s*\\${close}`)
    .join('|'),
  'g',
)

/** What stands beside a blank value goes with it: the rules in their order, each with what it leaves. */
const withoutBlanks = (text: string): string =>
  text
    .replaceAll(enclosed, blank)
    .replaceAll(new RegExp(`${blank}\\s+[&+]\\s+|\\s+[&+]\\s+${blank}`, 'g'), blank)
    .replaceAll(new RegExp(`${blank}['’]s(?!\\p{L})`, 'gu'), blank)
    // Where a sentence began with it, it begins with what follows.
    .replaceAll(
      new RegExp(`(^|[.!?…]\\s+|\\n\\s*|[¿¡(["“«‘])(?:${blank}(?:[\\s,;:.!?…]|[-–—]\\s)*)+((?!https?:)\\p{Ll})?`, 'gu'),
      (_, before: string, letter: string | undefined) => `${before}${(letter ?? '').toUpperCase()}`,
    )
    // Of two marks around it one stays.
    .replaceAll(new RegExp(`([:;]|\\s[-–—])${blanks}\\s*[,;:]`, 'g'), '$1')
    .replaceAll(new RegExp(`,${blanks}(?:[^\\S\\n]*(?=[.,;:!?…\\n]|$)|(?=\\s+[-–—]\\s))`, 'g'), '')
    .replaceAll(new RegExp(`${blanks}[^\\S\\n]*(?=[,;.!?…])`, 'g'), '')
    .replaceAll(new RegExp(`(\\s*)${blank}(?:\\s*${blank})*(?=[\\p{L}\\p{N}])`, 'gu'), '$1')
    .replaceAll(new RegExp(blanks, 'g'), '')

const oneLine = (value = ''): string => value.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()

/** Of a host that may be one. Whatever else has a dot before its `@` may be opened as the host that stands there. */
const plainEmail = /^[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}[\p{L}\p{M}\p{N}-]+$/u

/** An address that is cut would end as another one. */
const mayHoldAddress = (name: string, value: string): boolean =>
  name === 'account' || (name === 'email' && value.length <= longestValue && plainEmail.test(value))

/** What is not seen a provider may leave out, and a browser does. */
const unseen = /\p{Default_Ignorable_Code_Point}/gu

/**
 * What a telephone opens as it stands: anything with a scheme, or an IP address. A provider may write what is only
 * similar to a colon or a slash as one.
 */
const openedAsIs = /[:ːˑ˸⦂꞉][/÷⁄∕⧸\u0337\u0338]{2}|\d{1,3}(?:[.。]\d{1,3}){3}/

/** A dot, or what a provider or a browser takes for one, between two words. */
const dotInWord = new RegExp(`(?<=\\S)([.。．｡﹒․])(?=${unseen.source}*\\p{L}${unseen.source}*[\\p{L}\\p{M}])`, 'gu')

/**
 * Anybody can fill in a form with the number of somebody else: what stands in its fields must not make a link in a text
 * that the account sends, nor turn around what stands behind it. `St.John`, which a telephone takes for a host, gets a
 * blank.
 */
const withoutAddress = (value: string): string => {
  const forward = value.replaceAll(/\p{Bidi_Control}/gu, '')
  const opened = openedAsIs.test(forward.replaceAll(unseen, '').normalize('NFKC'))
  return opened ? '' : forward.replaceAll(dotInWord, '$1 ').trim()
}

const shown = (value: string): string =>
  value === ''
    ? blank
    : value
        .slice(0, longestValue)
        // Half of a character would be none.
        .replace(/[\uD800-\uDBFF]$/, '')
        .trimEnd()
