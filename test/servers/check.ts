import { spawnSync } from 'node:child_process'

/**
 * What `npm run check:servers` runs, in this order: the tests that want an empty log come first, and the contract suites, which
 * leave events that no service can read, last. `quick` measures on little data.
 */
const quick = process.argv.slice(2)

const contracts = [
  'test/adapters/eventstoredb/contract.test.ts',
  'test/adapters/mongodb/documents.test.ts',
  'test/adapters/mongodb/leases.test.ts',
]

const steps: ReadonlyArray<ReadonlyArray<string>> = [
  ['node_modules/ava/entrypoints/cli.mjs', '--serial', '--concurrency', '1', 'test/servers'],
  ['dist/test/bench/bench.js', 'servers', ...quick],
  ['node_modules/ava/entrypoints/cli.mjs', '--serial', '--concurrency', '1', ...contracts],
]

const failed = steps.filter((step) => spawnSync(process.execPath, step, { stdio: 'inherit' }).status !== 0)
process.exitCode = failed.length === 0 ? 0 : 1
