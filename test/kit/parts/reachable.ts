import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nextTurn } from '../time/turns.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/**
 * Objects that are watched, to count how many of them something still refers to: what waits, or is cached, whoever
 * holds it.
 */
type Reachable = {
  readonly watch: (one: object) => void
  readonly count: () => Promise<number>
}

export const reachable = (): Reachable => {
  let watched: Array<WeakRef<object>> = []
  return {
    watch: (one) => {
      watched.push(new WeakRef(one))
    },
    count: async () => {
      // What was watched on this turn of the event loop stays until the next one.
      await nextTurn()
      collectGarbage()
      watched = watched.filter((one) => one.deref() !== undefined)
      return watched.length
    },
  }
}
