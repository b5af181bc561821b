import assert from 'node:assert/strict'

const formats = new Map<string, Intl.DateTimeFormat>()

const formatOf = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  formats.set(zone, made)
  return made
}

/** What a clock on the wall of a zone shows: the day of the week in lower case, and the time as HH:MM. */
export const wallClock = (zone: string, at: number): { readonly day: string; readonly time: string } => {
  const [, weekday = '', time = ''] = /^(\w+),? (?:at )?(\d\d:\d\d)$/.exec(formatOf(zone).format(at)) ?? []
  assert.notEqual(time, '')
  return { day: weekday.toLowerCase(), time }
}

/** The time of day in California, as HH:MM. */
export const californianTime = (at: number): string => wallClock('America/Los_Angeles', at).time
