import { startDouble } from './double.js'

/** A double in a process of its own, on a free port: it says where, and runs until a signal. */
const double = await startDouble()
process.stdout.write(`${double.url}\n`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void double.stop())
