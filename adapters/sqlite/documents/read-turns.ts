/** Finds and the documents that they give, until everything else has its turn. */
const readsPerTurn = 200

/** Reads are synchronous: between two pages everything else has its turn. */
export const othersHadTheirTurn = (): Promise<void> => new Promise(setImmediate)

/**
 * Says when a find has to wait, since much was read without a pause: a long row of finds, or pages of many readers at
 * once, would let nobody else have a turn. Those who wait go on one in each turn.
 */
export const readingTurns = (): ((documents: number) => Promise<void> | undefined) => {
  let read = 0
  let last: Promise<void> = Promise.resolve()
  return (documents) => {
    read += 1 + documents
    if (read < readsPerTurn) return undefined
    read = 0
    last = last.then(othersHadTheirTurn)
    return last
  }
}
