const replacement = '\uFFFD'

/**
 * A value of JSON without halves of surrogate pairs and without NUL, which stand in neither UTF-8 nor a text of
 * PostgreSQL: U+FFFD stands for each, as where HTML is parsed, in names as well as in texts.
 */
export const wellFormed = <Json>(json: Json): Json => (isWellFormed(json) ? json : (replaced(json) as Json))

const isWellFormed = (json: unknown): boolean => {
  if (typeof json === 'string') return json.isWellFormed() && !json.includes('\0')
  if (typeof json !== 'object' || json === null) return true
  return Object.entries(json).every(([name, value]) => isWellFormed(name) && isWellFormed(value))
}

const replaced = (json: unknown): unknown => {
  if (typeof json === 'string') return json.toWellFormed().replaceAll('\0', replacement)
  if (Array.isArray(json)) return json.map(replaced)
  if (typeof json !== 'object' || json === null) return json
  // Of two names that become the same the last one counts, as of two that are the same in JSON.
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [replaced(name), replaced(value)]))
}
