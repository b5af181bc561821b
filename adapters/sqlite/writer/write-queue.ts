import { Worker } from 'node:worker_threads'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { storeFailure } from '../failure.js'
import type { Write, WriteResult, WriterMessage } from './writer-protocol.js'

/** The writes that wait for the writing thread and its disk. */
export type WriteQueue = {
  /** Durable when it resolves. Writes that wait for the disk are committed together, in the order of the calls. */
  readonly write: (write: Write) => Promise<Either<StoreFailure, WriteResult>>
  /** Resolves once everything that was queued is written; what is written later fails. */
  readonly close: () => Promise<void>
}

type QueuedWrite = { readonly write: Write; readonly resolve: (result: Either<StoreFailure, WriteResult>) => void }

/** So many writes are sent before the turn of the event loop ends, so that the writing thread begins meanwhile. */
const earlyBatch = 16

/** Left: why the writing thread can't use the file. */
export const openWriteQueue = async (file: string): Promise<Either<StoreFailure, WriteQueue>> => {
  const worker = new Worker(new URL('./writer-thread.js', import.meta.url), { workerData: { file } })
  const ready = await firstMessage(worker)
  if (ready.kind !== 'unusable') return E.right(queueFor(worker))
  await worker.terminate()
  return E.left(storeFailure(ready.code))
}

const firstMessage = (worker: Worker): Promise<WriterMessage> =>
  new Promise((resolve) => {
    worker.once('message', resolve)
    worker.once('error', (error) => {
      resolve({ kind: 'unusable', code: error.name })
    })
  })

const queueFor = (worker: Worker): WriteQueue => {
  const queued: Array<QueuedWrite> = []
  /** Sent to the thread, in the order in which the answers come. */
  const committing: Array<QueuedWrite> = []
  let isScheduled = false
  /** Why nothing can be written any more. */
  let failure: StoreFailure | undefined
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
  /** The thread is gone: everything that still waits fails. */
  const fail = (code: string): void => {
    failure ??= storeFailure(code)
    committing.push(...queued.splice(0))
    resolveWrites(committing.map(() => ({ kind: 'failed', code })))
  }
  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'results') resolveWrites(message.results)
  })
  worker.on('error', (error) => fail(error.name))
  worker.on('exit', () => fail(closed))

  return {
    write: (write) =>
      new Promise((resolve) => {
        if (failure !== undefined) {
          resolve(E.left(failure))
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
      failure ??= storeFailure(closed)
      if (queued.length > 0 || committing.length > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      await worker.terminate()
    },
  }
}

const closed = 'the store is closed'
