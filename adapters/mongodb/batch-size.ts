/** How many changes go into one command: so few that a slow server is done before a timeout cuts it off in the middle. */
export type Pace = {
  readonly size: () => number
  readonly took: (changes: number, milliseconds: number) => void
}

/** In milliseconds. */
const longest = 1_000
const most = 1_000

export const pace = (): Pace => {
  let size = 100
  return {
    size: () => size,
    took: (changes, milliseconds) => {
      if (milliseconds > longest) size = Math.max(1, Math.floor((changes * longest) / milliseconds))
      else if (changes === size && milliseconds < longest / 2) size = Math.min(most, size * 2)
    },
  }
}
