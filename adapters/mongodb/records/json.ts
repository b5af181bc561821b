import { Instant } from '../../../domain/instant.js'
import { OperationFailed } from '../failure.js'

/** The one field of what BSON can't hold as it is: its JSON text. */
export const textField = '_json'

/** Levels of a document that become documents and lists of BSON; the server refuses more than a hundred. */
const deepest = 50

/**
 * A value of JSON as a value of BSON. An instant becomes a date, and no other text does, so that every date is that
 * very text when it is read. Numbers stay numbers, and -0 and what is no number become what JSON makes of them. What
 * BSON can't hold stands as its JSON text: names that are blank, begin with `$`, hold a dot or NUL or are the driver's
 * own, halves of surrogate pairs, and what lies too deep.
 */
export const bsonOf = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return isInstant(value) ? new Date(value) : textOf(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return asJson(value)
  if (Array.isArray(value)) return value.map((one: unknown) => (one === undefined ? null : bsonOf(one, depth + 1)))
  const fields: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) {
    if (!isFieldName(name)) return asJson(value)
    if (one !== undefined) fields[name] = bsonOf(one, depth + 1)
  }
  return fields
}

/**
 * Fields whose names others chose, as a list that can be queried whatever the names: the attribute pattern. Text stays
 * text.
 */
export const attributesOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return bsonOf(value)
  if (Array.isArray(value)) return asJson(value)
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => ({ name: textOf(name), value: typeof one === 'string' ? textOf(one) : bsonOf(one, 2) }))
}

/** @throws OperationFailed where Leadloop wrote no such value */
export const jsonOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? noJson() : value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? noJson() : value.toISOString()
  if (Array.isArray(value)) return value.map(jsonOf)
  if ('_bsontype' in value) return noJson()
  const fields: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) {
    if (name === textField) return parsed(one)
    fields[name] = jsonOf(one)
  }
  return fields
}

/** @throws OperationFailed */
export const fieldsOfAttributes = (value: unknown): unknown => {
  if (!Array.isArray(value)) return jsonOf(value)
  return Object.fromEntries(
    value.map((attribute: unknown) => {
      const { name, value: one } = attribute as { readonly name: unknown; readonly value: unknown }
      return [jsonOf(name) as string, jsonOf(one)]
    }),
  )
}

/** @throws OperationFailed */
export const parsed = (text: unknown): unknown => {
  try {
    if (typeof text === 'string') return JSON.parse(text)
  } catch {
    // The message of the parser holds a piece of the text.
  }
  return noJson()
}

export const asJson = (value: unknown): unknown => ({ [textField]: JSON.stringify(value) })

/**
 * Whether a field of BSON can have this name, on every server. The driver takes what has a `_bsontype` for a value of
 * its own.
 */
export const isFieldName = (name: string): boolean =>
  fieldName.test(name) && !halfOfPair.test(name) && !ownNames.has(name)

const fieldName = /^[^$.\0][^.\0]*$/
const ownNames: ReadonlySet<string> = new Set([textField, '_bsontype', '__proto__'])
const halfOfPair = /\p{Surrogate}/u

const textOf = (text: string): unknown => (halfOfPair.test(text) ? asJson(text) : text)

const isInstant = (text: string): boolean => text.length === 24 && text.endsWith('Z') && Instant.is(text)

const noJson = (): never => {
  throw new OperationFailed({ kind: 'corrupt', reason: 'a document holds no JSON' })
}
