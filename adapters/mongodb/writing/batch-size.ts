/**
 * How many changes go into one command: so few that a slow server is done with them before the timeout of the socket.
 */
type BatchSize = {
  readonly current: () => number
  /** Learns from a batch of so many changes how slow the server is. */
  readonly adapt: (changes: number, milliseconds: number) => void
  /** A batch of so many changes was not answered before the timeout of the socket. */
  readonly timedOut: (changes: number) => void
}

/** In milliseconds. */
const longestBatch = 1_000
/** In milliseconds: what is longer is no answer of a majority that is late (`wtimeoutMS`). */
const longestLatency = 4_000
const mostInBatch = 1_000
/** In milliseconds: two changes that take twice as long are still done before the timeout of the socket. */
const longestOfOne = 2_400

/**
 * What a batch costs beyond its changes, such as the way to the server and the wait for a majority, is no reason for
 * smaller ones: they would cost it more often. Two batches of which one is at least twice as large tell it from the
 * cost of a change.
 */
export const adaptiveBatchSize = (): BatchSize => {
  let size = 100
  let latency = 0
  let last: { readonly changes: number; readonly milliseconds: number } | undefined

  const latencyBy = (changes: number, milliseconds: number): number => {
    if (last === undefined || Math.max(changes, last.changes) < 2 * Math.min(changes, last.changes)) return latency
    const costOfOne = Math.max(0, (milliseconds - last.milliseconds) / (changes - last.changes))
    return Math.max(0, milliseconds - costOfOne * changes)
  }
  return {
    current: () => size,
    adapt: (changes, milliseconds) => {
      latency = Math.min(latencyBy(changes, milliseconds), milliseconds, longestLatency)
      const toldNothing = last === undefined || last.changes === changes
      last = { changes, milliseconds }
      // Followers at the head write few changes at a time: such a batch says nothing of a full one.
      if (changes < size) return
      const cost = milliseconds - latency
      // Nothing is half of one change, so twice as many tell the latency.
      if (size === 1 && milliseconds <= longestOfOne) size = 2
      // At most half, so that the next batch tells the latency.
      else if (cost > longestBatch) size = Math.max(1, Math.floor(changes * Math.min(1 / 2, longestBatch / cost)))
      else if (changes === size && cost < longestBatch / 2) size = Math.min(mostInBatch, size * 2)
      else if (toldNothing) size = Math.max(1, Math.floor(changes / 2))
    },
    timedOut: (changes) => {
      size = Math.max(1, Math.floor(changes / 2))
      last = undefined
    },
  }
}
