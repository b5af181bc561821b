/** Milliseconds between two looks at something of which nobody tells. */
const interval = 10

/** How long it took in milliseconds until `isSo`; rejects when it is not so within `most` milliseconds. */
export const until = async (what: string, most: number, isSo: () => boolean | Promise<boolean>): Promise<number> => {
  const start = performance.now()
  while (!(await isSo())) {
    if (performance.now() - start > most) throw new Error(`not within ${most} ms: ${what}`)
    await passed(interval)
  }
  return performance.now() - start
}

/** For what is to last some time: an outage, a slow receiver, the pace of a load. */
export const passed = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))
