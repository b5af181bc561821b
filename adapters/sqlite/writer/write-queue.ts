import { Worker } from 'node:worker_threads'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { codeOf, storeFailure } from '../failure.js'
import type { Write, WriteResult, WriterMessage } from './writer-protocol.js'

/** The writes that wait for the writing thread and its disk. */
export type WriteQueue = {
  /**
   * Events are durable when it resolves. Writes that wait for the disk are committed together, in the order of the
   * calls.
   */
  readonly write: (write: Write) => Promise<Either<StoreFailure, WriteResult>>
  /** Resolves once everything that was queued is written; what is written later fails. */
  readonly close: () => Promise<void>
}

type QueuedWrite = { readonly write: Write; readonly resolve: (result: Either<StoreFailure, WriteResult>) => void }

/**
 * Without its writing thread the process could go on for ever, and store nothing: so it ends, and its next start goes
 * on from what is on the disk. `code`: of the error that ended the thread.
 */
class WritingThreadEnded extends Error {
  override readonly name = 'WritingThreadEnded'
  readonly code: string

  constructor(code: string) {
    super(`the thread that writes ended (${code})`)
    this.code = code
  }
}

/** So many writes are sent before the turn of the event loop ends, so that the writing thread begins meanwhile. */
const earlyBatch = 32

/**
 * `onRewriting`: called before the file of an older version is rewritten. Left: why the writing thread can't use the
 * file.
 */
export const openWriteQueue = async (
  file: string,
  onRewriting: () => void,
): Promise<Either<StoreFailure, WriteQueue>> => {
  const worker = new Worker(new URL('./writer-thread.js', import.meta.url), { workerData: { file } })
  const ready = await openedBy(worker, onRewriting)
  if (ready.kind !== 'unusable') return E.right(queueFor(worker))
  await worker.terminate()
  return E.left(storeFailure(ready.code))
}

const openedBy = (worker: Worker, onRewriting: () => void): Promise<WriterMessage> =>
  new Promise((resolve) => {
    const receive = (message: WriterMessage): void => {
      if (message.kind === 'rewriting') onRewriting()
      else {
        worker.off('message', receive)
        resolve(message)
      }
    }
    worker.on('message', receive)
    worker.once('error', (error) => {
      resolve({ kind: 'unusable', code: codeOf(error) })
    })
    worker.once('exit', () => {
      resolve({ kind: 'unusable', code: 'the thread that writes ended' })
    })
  })

const queueFor = (worker: Worker): WriteQueue => {
  const queued: Array<QueuedWrite> = []
  /** Sent to the thread, in the order in which the answers come. */
  const committing: Array<QueuedWrite> = []
  let isScheduled = false
  let isClosed = false
  let onIdle: (() => void) | undefined

  const send = (): void => {
    isScheduled = false
    if (queued.length === 0) return
    const batch = queued.splice(0)
    committing.push(...batch)
    worker.postMessage(batch.map(({ write }) => write))
  }
  const resolveWrites = (results: ReadonlyArray<WriteResult>): void => {
    committing.splice(0, results.length).forEach((one, index) => {
      const result = results[index]
      if (result === undefined || result.kind === 'failed')
        one.resolve(E.left(storeFailure(result?.code ?? 'no result')))
      else one.resolve(E.right(result))
    })
    if (queued.length === 0 && committing.length === 0) onIdle?.()
  }
  let isEnding = false
  let endedBy = 'no error'
  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'results') resolveWrites(message.results)
  })
  worker.on('error', (error) => {
    endedBy = codeOf(error)
  })
  worker.on('exit', () => {
    // Nobody can catch this. What was sent may be on the disk or not, so no write can be answered.
    if (!isEnding) throw new WritingThreadEnded(endedBy)
  })

  return {
    write: (write) =>
      new Promise((resolve) => {
        if (isClosed) {
          resolve(E.left(storeFailure(closed)))
          return
        }
        queued.push({ write, resolve })
        if (queued.length >= earlyBatch) send()
        else if (!isScheduled) {
          isScheduled = true
          setImmediate(send)
        }
      }),
    close: async () => {
      isClosed = true
      if (queued.length > 0 || committing.length > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      isEnding = true
      await worker.terminate()
    },
  }
}

const closed = 'the store is closed'
