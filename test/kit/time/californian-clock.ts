/** The time of day in California, as HH:MM. */
export const californianClock = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'America/Los_Angeles', hour: '2-digit', minute: '2-digit' }).format(at)
