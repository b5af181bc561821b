/**
 * The index of the first that `holds` is true of, where it is true of all behind that one as well; the length where
 * there is none.
 */
export const firstWhere = <A>(all: ReadonlyArray<A>, holds: (one: A) => boolean): number => {
  let low = 0
  let high = all.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const one = all[middle]
    if (one !== undefined && holds(one)) high = middle
    else low = middle + 1
  }
  return low
}
