import { startDouble } from './double.js'
import { answersOf, type Version } from './version.js'

const isVersion = (text: string): text is Version => text in answersOf

/**
 * A double in a process of its own, on a free port, of the version that is named, or the newest: it says where, and
 * runs until a signal.
 */
const [, , version = '24.10'] = process.argv
if (!isVersion(version)) throw new Error(`the double answers as ${Object.keys(answersOf).join(' or ')}`)
const double = await startDouble({ version })
process.stdout.write(`${double.url}\n`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void double.stop())
