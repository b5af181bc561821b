import fc from 'fast-check'

const halves = { first: 0xd800, count: 0x800 }

const characterAt = (index: number): string => String.fromCodePoint(index < halves.first ? index : index + halves.count)

const indexOf = (character: unknown): number => {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined
  if (code === undefined || character !== String.fromCodePoint(code)) throw new Error('not one character')
  return code < halves.first ? code : code - halves.count
}

/**
 * Any character of Unicode; half of a surrogate pair is none. As the `unit` of strings it stands for fast-check's
 * `binary`, which makes a table of all million of them for each arbitrary. With the way back, strings such as
 * `__proto__` are tried as well.
 */
export const codePoint = fc.nat(0x10ffff - halves.count).map(characterAt, indexOf)
