import { spawnSync } from 'node:child_process'
import { isEmpty, namedServer } from './server.js'

/**
 * What `npm run check:servers` runs, in this order: the test that wants an empty log comes first, and the contract
 * suites, which leave events that no service can read, last. `quick` measures on little data.
 */
const quick = process.argv.slice(2)

const contracts = [
  'test/adapters/eventstoredb/contract.test.ts',
  'test/adapters/mongodb/documents.test.ts',
  'test/adapters/mongodb/leases.test.ts',
]

const ava = ['node_modules/ava/entrypoints/cli.mjs', '--serial', '--concurrency', '1']

const steps: ReadonlyArray<ReadonlyArray<string>> = [
  [...ava, 'test/servers/empty-log.test.ts'],
  [...ava, 'test/servers/*.test.ts', '!test/servers/empty-log.test.ts'],
  ['dist/test/bench/bench.js', 'servers', ...quick],
  [...ava, ...contracts],
]

if (namedServer !== undefined && !(await isEmpty(namedServer))) {
  process.stderr.write('The log at EVENTSTORE_URL is not empty: these checks want a server that holds nothing.\n')
  process.exit(1)
}

const failed = steps.filter((step) => spawnSync(process.execPath, step, { stdio: 'inherit' }).status !== 0)
process.exitCode = failed.length === 0 ? 0 : 1
