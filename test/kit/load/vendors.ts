import type { ExecutionContext } from 'ava'
import { clientOf } from '../network/http.js'
import { sleep } from '../time/until.js'
import type { Load } from './load.js'

/** A submission and what became of it; times in milliseconds. */
type Submitted = {
  readonly sentAt: number
  readonly elapsed: number
  /** Undefined where no answer came. */
  readonly status: number | undefined
  readonly retryAfter: string | undefined
}

export type Vendors = {
  readonly submitted: ReadonlyArray<Submitted>
  /** Resolves when the last one has its answer. */
  readonly stop: () => Promise<void>
}

/** For a test that lasts: so few leads that FerretDB, which writes some hundred documents a second, catches up soon. */
export const oneSlowVendor = { vendors: 1, pause: 250 }

/** Some vendors who go on sending leads at their own pace, whatever they are told. */
export const vendorsAt = (
  t: ExecutionContext,
  address: string,
  { submit }: Load,
  { vendors = 4, pause = 40 }: { readonly vendors?: number; readonly pause?: number } = {},
): Vendors => {
  const submitted: Array<Submitted> = []
  const stopping = new AbortController()
  const client = clientOf(address)
  const work = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const sentAt = performance.now()
      const answered = await submit(client)
      const retryAfter = answered?.headers['retry-after']
      submitted.push({ sentAt, elapsed: performance.now() - sentAt, status: answered?.status, retryAfter })
      await sleep(pause)
    }
  }
  const done = Promise.all(Array.from({ length: vendors }, work))
  const stop = async (): Promise<void> => {
    stopping.abort()
    await done
    client.close()
  }
  // A test that fails before it stops them ends all the same.
  t.teardown(stop)
  return { submitted, stop }
}

/** Those that were sent after one moment and had their answer, or lost hope of it, before another. */
export const between = (submitted: ReadonlyArray<Submitted>, from: number, to: number): ReadonlyArray<Submitted> =>
  submitted.filter(({ sentAt, elapsed }) => sentAt > from && sentAt + elapsed < to)
