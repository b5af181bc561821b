import { E, type Either } from '../../../domain/prelude.js'
import { answered, bodyOf, takesNoRequests, type Body } from '../service/calling.js'
import type { Call } from '../service/service-call.js'
import { lateProgressBar } from '../progress.js'

type Rebuild = {
  readonly read_model: string
  readonly state: string
  readonly documents: number | null
  readonly reason: string | null
  readonly progress: number | null
}

/** In milliseconds, between two looks at how far it is. */
const pause = 300

/**
 * Why the rebuild was not done, in one sentence. `isElsewhere`: the process that was asked does not maintain all of
 * these read models, so it began none.
 */
type NotRebuilt = { readonly sentence: string; readonly isElsewhere: boolean }

/** Lets a running service build its read models anew, and waits. */
export const rebuildServed = async (
  call: Call,
  names: ReadonlyArray<string>,
): Promise<Either<NotRebuilt, undefined>> => {
  const asked = await call('POST', '/rebuilds', names.length === 0 ? {} : { read_models: names })
  if (E.isLeft(asked)) return E.left({ sentence: asked.left, isElsewhere: false })
  const isElsewhere = asked.right.status === 409 || takesNoRequests(asked.right)
  const begun = rebuildsIn(bodyOf(asked.right))
  const done = E.isLeft(begun) ? begun : await completed(call, begun.right)
  return E.isLeft(done) ? E.left({ sentence: done.left, isElsewhere }) : done
}

/** Waits for the end of these rebuilds. Left: one sentence that says which were not completed. */
const completed = async (call: Call, begun: ReadonlyArray<Rebuild>): Promise<Either<string, undefined>> => {
  const wanted = begun.map(({ read_model }) => read_model)
  const bar = lateProgressBar(100)
  try {
    for (;;) {
      const now = rebuildsIn(await answered(call, 'GET', '/rebuilds'))
      if (E.isLeft(now)) return now
      const asked = now.right.filter(({ read_model }) => wanted.includes(read_model))
      const missing = wanted.filter((name) => asked.every(({ read_model }) => read_model !== name))
      if (missing.length > 0) return E.left(`The service was started anew before ${missing.join(', ')} was built.`)
      if (asked.every(({ state }) => state !== 'running')) return told(asked)
      bar.update(Math.floor(100 * Math.min(...asked.map(({ progress }) => progress ?? 0))))
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  } finally {
    bar.stop()
  }
}

const rebuildsIn = (body: Either<string, Body>): Either<string, ReadonlyArray<Rebuild>> =>
  E.isLeft(body) ? body : E.right(body.right['rebuilds'] as ReadonlyArray<Rebuild>)

const told = (rebuilds: ReadonlyArray<Rebuild>): Either<string, undefined> => {
  const failed = rebuilds.filter(({ state }) => state !== 'completed')
  for (const { read_model, documents } of rebuilds.filter(({ state }) => state === 'completed')) {
    const count = (documents ?? 0).toLocaleString('en-US')
    process.stdout.write(`${read_model}: ${count} ${documents === 1 ? 'document' : 'documents'}\n`)
  }
  if (failed.length === 0) return E.right(undefined)
  const reasons = failed.map(({ read_model, reason }) => `${read_model} (${reason})`)
  return E.left(`These stay as they were: ${reasons.join(', ')}.`)
}
