/** How many changes go into one command: so few that a slow server is done with them before the timeout of the socket. */
type BatchSize = {
  readonly current: () => number
  /** Learns from a batch of so many changes how slow the server is. */
  readonly adapt: (changes: number, milliseconds: number) => void
}

/** In milliseconds. */
const longestBatch = 1_000
const largestBatch = 1_000

export const adaptiveBatchSize = (): BatchSize => {
  let size = 100
  return {
    current: () => size,
    adapt: (changes, milliseconds) => {
      if (milliseconds > longestBatch) size = Math.max(1, Math.floor((changes * longestBatch) / milliseconds))
      else if (changes === size && milliseconds < longestBatch / 2) size = Math.min(largestBatch, size * 2)
    },
  }
}
