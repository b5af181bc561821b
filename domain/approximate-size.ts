/**
 * About how many bytes a value takes in memory, and rather too many: cheap enough to be asked for whatever goes into a
 * cache.
 */
export const approximateBytes = (value: unknown): number => {
  if (typeof value === 'string') return 16 + 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  let bytes = 32
  if (isIterable(value)) for (const one of value) bytes += approximateBytes(one)
  else
    for (const name in value)
      bytes += 8 + name.length + approximateBytes((value as Readonly<Record<string, unknown>>)[name])
  return bytes
}

const isIterable = (value: object): value is Iterable<unknown> => Symbol.iterator in value
