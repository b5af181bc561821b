import test from 'ava'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { storedSecret } from '../../../adapters/node/key-file.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

test('a secret is made once, in a folder that need not be there, and is found again', (t) => {
  const file = join(temporaryDirectory(t), 'new', 'data', 'secret-key')
  const first = storedSecret(file)
  t.true(first.isNew)
  t.is(Buffer.from(first.secret, 'base64url').length, 32)
  t.deepEqual(storedSecret(file), { secret: first.secret, isNew: false })
  t.is(readFileSync(file, 'utf8'), `${first.secret}\n`)
})

test('a folder that is made for a secret is entered by its owner alone', (t) => {
  const file = join(temporaryDirectory(t), 'data', 'secret-key')
  storedSecret(file)
  t.is(statSync(dirname(file)).mode & 0o777, 0o700)
})

test('two folders have two secrets', (t) => {
  const [one, other] = [temporaryDirectory(t), temporaryDirectory(t)]
  t.not(storedSecret(join(one, 'key')).secret, storedSecret(join(other, 'key')).secret)
})

test('only its owner reads the file, and nothing else is left beside it', (t) => {
  const directory = temporaryDirectory(t)
  storedSecret(join(directory, 'secret-key'))
  t.is(statSync(join(directory, 'secret-key')).mode & 0o777, 0o600)
  t.deepEqual(readdirSync(directory), ['secret-key'])
})

test('a secret that the operator put there is used as it is', (t) => {
  const file = join(temporaryDirectory(t), 'secret-key')
  writeFileSync(file, '  of-my-own \n')
  chmodSync(file, 0o400)
  t.deepEqual(storedSecret(file), { secret: 'of-my-own', isNew: false })
})

/** Each waits until all are there, so that they look for the file at once. */
const starter = `
  import { parentPort, workerData } from 'node:worker_threads'
  const { storedSecret } = await import(workerData.module)
  const gate = new Int32Array(workerData.gate)
  for (const [round, file] of workerData.files.entries()) {
    if (Atomics.add(gate, round, 1) === workerData.starts - 1) Atomics.notify(gate, round)
    else while (Atomics.load(gate, round) < workerData.starts) Atomics.wait(gate, round, Atomics.load(gate, round), 50)
    parentPort.postMessage(storedSecret(file))
  }
`

test('of several starts at once on one folder, all get the secret of the first', async (t) => {
  const directory = temporaryDirectory(t)
  const [starts, rounds] = [6, 40]
  const files = Array.from({ length: rounds }, (_, round) => join(directory, `${round}`, 'secret-key'))
  const gate = new SharedArrayBuffer(4 * rounds)
  const module = new URL('../../../adapters/node/key-file.js', import.meta.url).href
  const source = new URL(`data:text/javascript,${encodeURIComponent(starter)}`)
  type Stored = ReturnType<typeof storedSecret>
  const told = await Promise.all(
    Array.from({ length: starts }, async () => {
      const worker = new Worker(source, { workerData: { module, gate, files, starts } })
      const stored: Array<Stored> = []
      worker.on('message', (one: Stored) => stored.push(one))
      await once(worker, 'exit')
      return stored
    }),
  )
  for (const [round, file] of files.entries()) {
    const stored = told.map((one) => one[round])
    t.is(new Set(stored.map((one) => one?.secret)).size, 1)
    t.is(stored.filter((one) => one?.isNew).length, 1)
    t.is(stored[0]?.secret, readFileSync(file, 'utf8').trim())
    t.is(statSync(file).mode & 0o777, 0o600)
    t.deepEqual(readdirSync(join(directory, `${round}`)), ['secret-key'])
  }
})
