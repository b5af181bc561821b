import type { LeadDetails } from './lead.js'

type Fields = Readonly<Record<string, string>>

/** A contact keeps so much of its leads: `bytes` of names and values as UTF-8. A lead alone has no more. */
export const largestDetails = { fields: 500, bytes: 64 * 1024 } as const

/** Names and values, as UTF-8. */
export const bytesOf = (fields: Fields): number =>
  Object.entries(fields).reduce((sum, field) => sum + bytesOfField(field), 0)

const bytesOfField = ([name, value]: readonly [string, string]): number =>
  Buffer.byteLength(name) + Buffer.byteLength(value)

/**
 * The newest lead's values; what it did not send stays as it was. Where that is too much, the fields go first that got
 * their values longest ago: `byAge` names those of `old` in that order.
 */
export const merged = (old: LeadDetails, byAge: ReadonlyArray<string>, sent: LeadDetails): LeadDetails => {
  const own = {
    first_name: sent.first_name === '' ? old.first_name : sent.first_name,
    last_name: sent.last_name === '' ? old.last_name : sent.last_name,
    email: sent.email === '' ? old.email : sent.email,
    phone: old.phone,
  }
  const all = { ...old.additional_info, ...sent.additional_info }
  const stays = byAge.filter((name) => !Object.hasOwn(sent.additional_info, name))
  const dropped = tooMany(all, [...stays, ...Object.keys(sent.additional_info)], largestDetails.bytes - bytesOf(own))
  if (dropped.size === 0) return { ...own, additional_info: all }
  return { ...own, additional_info: Object.fromEntries(Object.entries(all).filter(([name]) => !dropped.has(name))) }
}

/** The first of the names, without which the others fit. */
const tooMany = (fields: Fields, names: ReadonlyArray<string>, bytes: number): ReadonlySet<string> => {
  let first = names.length
  for (let left = bytes; first > 0 && names.length - first < largestDetails.fields; first -= 1) {
    const name = names[first - 1] ?? ''
    left -= bytesOfField([name, fields[name] ?? ''])
    if (left < 0) break
  }
  return new Set(names.slice(0, first))
}

/** The names of the fields, those first that got their values longest ago. */
export const fieldsByAge = (byAge: ReadonlyArray<string>, before: Fields, now: Fields): ReadonlyArray<string> => {
  const hasChanged = (name: string): boolean => !Object.hasOwn(before, name) || before[name] !== now[name]
  const stays = byAge.filter((name) => Object.hasOwn(now, name) && !hasChanged(name))
  return [...stays, ...Object.keys(now).filter(hasChanged)]
}

export const sameDetails = (one: LeadDetails, other: LeadDetails): boolean =>
  one.first_name === other.first_name &&
  one.last_name === other.last_name &&
  one.email === other.email &&
  sameEntries(one.additional_info, other.additional_info)

const sameEntries = (one: Fields, other: Fields): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}
