import { startDouble } from './double.js'

/** A double in a process of its own, on the port that is given or on a free one: it says where, and runs until a signal. */
const double = await startDouble({ port: Number(process.argv[2] ?? 0) })
process.stdout.write(`${double.url}\n`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void double.stop())
