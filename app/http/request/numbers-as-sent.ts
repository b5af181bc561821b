/** A text, a number or a bracket of JSON. */
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}]/g

/**
 * Whether a number becomes the text that was sent. `depth`: 1 for one that is a field. `field`: the one that it is, or
 * that it stands in.
 */
type IsText = (number: string, depth: number, field: string) => boolean

/**
 * Where a form may come as well every field is a text. A number further in is part of a field's JSON: it stays one,
 * unless JavaScript can't hold all its digits, which an id may need.
 */
export const isTextOfLead: IsText = (number, depth) =>
  depth > 1 ? losesDigits(number) : String(Number(number)) !== number

/** Fields that may hold anything, ids too: the properties of an activity, and a lead that is previewed. */
const openFields: ReadonlySet<string> = new Set(['"properties"', '"lead"'])

/**
 * A fraction that JavaScript would take for a whole number, which was not sent, and, in a field that may hold anything,
 * a whole number of more digits than it can hold. In any other that is refused, as a short one is where none may stand.
 */
export const isTextElsewhere: IsText = (number, _depth, field) => {
  const isFraction = /\.|e-/i.test(number)
  return (isFraction ? Number.isInteger(Number(number)) : openFields.has(field)) && losesDigits(number)
}

/** A body of JSON again, `raw`, with some numbers as the text that was sent. */
export const withNumbersAsSent = (body: unknown, raw: string, isText: IsText): unknown => {
  if (!hasNumber(body)) return body
  let depth = 0
  let field = ''
  const asSent = (text: string): string => {
    if (text === '{' || text === '[') depth += 1
    else if (text === '}' || text === ']') depth -= 1
    else if (!text.startsWith('"')) return isText(text, depth, field) ? `"${text}"` : text
    // Of two texts at this depth the later one is the value, behind which nothing is in the field any more.
    else if (depth === 1) field = text
    return text
  }
  const changed = raw.replace(token, asSent)
  return changed === raw ? body : JSON.parse(changed)
}

const losesDigits = (number: string): boolean => digitsOf(String(Number(number))) !== digitsOf(number)

/** Those that count, from the first to the last that is not zero. */
const digitsOf = (number: string): string | undefined => /[1-9](?:0*[1-9])*/.exec(number.replace(/\.|e.*/gi, ''))?.[0]

const hasNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && Object.values(value).some(hasNumber))
