import Database from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { isMainThread, parentPort } from 'node:worker_threads'

/** Where the writing thread is when it ends. */
export const endingSteps = [
  'opening the file',
  'waiting for writes',
  'having received writes',
  'writing',
  'having committed',
  'answering',
  'handling an error of the disk',
] as const

type EndingStep = (typeof endingSteps)[number]

/** Settings of a process that loads this file first: where the thread ends, once the file `armed` is there. */
export const endingAt = (step: EndingStep, armed: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${import.meta.url}`,
  WRITER_ENDS_AT: step,
  WRITER_ENDS_ONCE_THERE_IS: armed,
})

const step = process.env['WRITER_ENDS_AT']
const armed = process.env['WRITER_ENDS_ONCE_THERE_IS'] ?? ''

/** In a thread this ends the thread alone. */
const endAt = (one: EndingStep): void => {
  if (one === step && existsSync(armed)) process.exit()
}

type Transaction = { readonly immediate: (writes: unknown) => unknown }
type Statement = { get: (...values: Array<unknown>) => unknown }

/** Nobody can catch what is thrown here: the thread ends by an error. */
const diskError = (): Error => Object.assign(new Error('a value of a person'), { code: 'SQLITE_IOERR' })

const prepareToEnd = (): void => {
  const original = { ...Database.prototype } as {
    pragma: (...args: Array<unknown>) => unknown
    prepare: (sql: string) => Statement
    transaction: (write: (writes: unknown) => unknown) => Transaction
  }
  let isDiskBroken = false
  Object.assign(Database.prototype, {
    pragma(...args: Array<unknown>) {
      endAt('opening the file')
      return original.pragma.apply(this, args)
    },
    prepare(sql: string) {
      const statement = original.prepare.call(this, sql)
      const get = statement.get.bind(statement)
      statement.get = (...values) => {
        if (isDiskBroken) throw diskError()
        return get(...values)
      }
      return statement
    },
    transaction(write: (writes: unknown) => unknown) {
      const { immediate } = original.transaction.call(this, (writes) => {
        endAt('writing')
        isDiskBroken = step === 'handling an error of the disk' && existsSync(armed)
        if (isDiskBroken) throw diskError()
        return write(writes)
      })
      return {
        immediate: (writes: unknown) => {
          endAt('having received writes')
          const results = immediate(writes)
          endAt('having committed')
          return results
        },
      }
    },
  })
  const post = parentPort?.postMessage.bind(parentPort)
  Object.assign(parentPort ?? {}, {
    postMessage: (message: unknown) => {
      if (step === 'answering' && existsSync(armed)) throw diskError()
      post?.(message)
    },
  })
  if (step === 'waiting for writes') setInterval(() => endAt('waiting for writes'), 10)
}

if (!isMainThread && step !== undefined) prepareToEnd()
