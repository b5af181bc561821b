import { t } from '../../../domain/codec.js'

/**
 * The paths of the fields in `value` that `codec` doesn't name: decoding lets them through, so a lost field stays
 * unseen.
 */
export const unknownFields = (codec: t.Any, value: unknown, path = ''): ReadonlyArray<string> => {
  if (codec instanceof t.ReadonlyType) return unknownFields(codec.type as t.Any, value, path)
  if (codec instanceof t.IntersectionType) {
    // A field is known when one part knows it.
    const parts = (codec.types as ReadonlyArray<t.Any>).map((part) => unknownFields(part, value, path))
    return (parts[0] ?? []).filter((field) => parts.every((unknown) => unknown.includes(field)))
  }
  if (codec instanceof t.UnionType) {
    const member = (codec.types as ReadonlyArray<t.Any>).find((type) => type.is(value))
    return member === undefined ? [path] : unknownFields(member, value, path)
  }
  if (codec instanceof t.ReadonlyArrayType && Array.isArray(value)) {
    return value.flatMap((item, index) => unknownFields(codec.type as t.Any, item, `${path}[${index}]`))
  }
  if (
    (codec instanceof t.InterfaceType || codec instanceof t.PartialType) &&
    typeof value === 'object' &&
    value !== null
  ) {
    const fields = codec.props as Readonly<Record<string, t.Any>>
    return Object.entries(value).flatMap(([name, part]) => {
      const field = fields[name]
      return field === undefined ? [`${path}.${name}`] : unknownFields(field, part, `${path}.${name}`)
    })
  }
  return []
}
