import type { Lane } from './webhook-queue.js'

/** Requests that are open in all, and how many of them may be open to webhooks that are slow. */
const openInAll = 256
const openToSlow = 128

/** What this process may have open, and the lanes that wait for it. */
export type Slots = {
  readonly open: () => number
  /** Requests that may be opened to a webhook now. */
  readonly freeFor: (lane: Lane) => number
  /** Takes one until the function that it gives is called. */
  readonly take: (lane: Lane) => () => void
  /** The lane is looked at again when one is free. */
  readonly wait: (lane: Lane) => void
  /** Lets lanes that wait be looked at: as many as there is room for, each of which may need none and tells so by `looked`. */
  readonly wake: (look: (lane: Lane) => void) => void
  readonly looked: (lane: Lane) => void
}

export const slots = (): Slots => {
  const waiting = { slow: new Set<Lane>(), fast: new Set<Lane>() }
  const looking = new Set<Lane>()
  let openNow = 0
  let openSlow = 0

  const room = (isSlow: boolean): number => {
    const left = openInAll - openNow
    return isSlow ? Math.min(left, openToSlow - openSlow) : left
  }
  return {
    open: () => openNow,
    freeFor: ({ pace, open }) => Math.min(pace.allowed - open.size, room(pace.isSlow)),
    take: ({ pace: { isSlow } }) => {
      openNow += 1
      if (isSlow) openSlow += 1
      return () => {
        openNow -= 1
        if (isSlow) openSlow -= 1
      }
    },
    wait: (lane) => {
      waiting[lane.pace.isSlow ? 'slow' : 'fast'].add(lane)
    },
    wake: (look) => {
      for (const kind of ['fast', 'slow'] as const) {
        for (const lane of waiting[kind]) {
          if (room(kind === 'slow') <= looking.size) break
          waiting[kind].delete(lane)
          looking.add(lane)
          look(lane)
        }
      }
    },
    looked: (lane) => {
      looking.delete(lane)
    },
  }
}
