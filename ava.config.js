import { readdirSync, readFileSync, statfsSync } from 'node:fs'
import { relative } from 'node:path'
import { argv, env, versions } from 'node:process'
import { setFlagsFromString } from 'node:v8'

// Each test file is a thread of its own that loads the test runner and what it tests, and ends. At V8's own budget it
// optimises functions of that loading which nobody calls again: a quarter of the processor's time of a file that
// asserts little. Newer Node has no flag for that budget. And objects that are gone within a test are cheaper to
// collect with more room for new ones.
if (versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=1000000')
for (const flag of ['--min-semi-space-size=16', '--max-semi-space-size=32']) setFlagsFromString(flag)

const memory = '/dev/shm'

/** Whether what tests write finds room in memory. */
const isRoomy = () => {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= 2 ** 31
  } catch {
    return false
  }
}

/**
 * Where tests have their directories, unless `TMPDIR` says so: on a disk a store mostly waits for flushes. What a
 * process that was killed has written outlives it in memory, too.
 */
const directories = env.TMPDIR === undefined && isRoomy() ? { TMPDIR: memory } : {}

/** What takes longest begins first, so that nothing long is left when the rest has ended. */
const longest = [
  'faults/disk',
  'projections/delivery/simulation',
  'app/analysis/report',
  'faults/kill',
  'faults/torn-files',
  'e2e/start-without-servers',
  'e2e/forbidden-addresses',
  'faults/sigterm',
  'e2e/start',
  'e2e/bytes',
  'adapters/eventstoredb/contract',
  'projections/delivery/crashes',
  'app/composition/outages',
  'readmes/tutorial',
  'app/analysis/erasure',
  'projections/follow-up/simulation',
  'projections/erasure/eraser',
  'app/commands/reactions/reactor',
  'e2e/read-your-writes',
  'adapters/eventstoredb/event-store',
  'e2e/resend',
  'faults/kill-files',
  'faults/kill-turning-off',
  'faults/kill-follow-up',
  'faults/servers/one-server',
  'e2e/empty-documents',
  'e2e/rebuild-cli',
  'e2e/replay',
].map((name) => `/test/${name}.test.ts`)

const suites = 'test/suites'

/** What the suites import: files that take longer to load, each in a thread of its own, than to run. */
const inSuites = readdirSync(suites).flatMap((suite) =>
  [...readFileSync(`${suites}/${suite}`, 'utf8').matchAll(/'\.\.\/(.*)\.js'/g)].map(([, path]) => `test/${path}.ts`),
)

/** Whether files or folders are named, in whichever way, which run as they are. */
const isNamed = argv
  .slice(2)
  .some((argument) => relative('', argument).startsWith('test/') || argument.endsWith('.test.ts'))

/** @param {string} file */
const place = (file) => {
  const index = longest.findIndex((end) => file.endsWith(end))
  return index === -1 ? longest.length : index
}

export default {
  files: ['test/**/*.test.ts', ...(isNamed ? [] : inSuites.map((file) => `!${file}`))],
  typescript: { rewritePaths: { 'test/': 'dist/test/' }, compile: false },
  environmentVariables: directories,
  sortTestFiles: (one, other) => place(one) - place(other),
  // More than there are cores: many tests wait, for a receiver, a disk or a process.
  concurrency: 4,
  timeout: '5m',
}
