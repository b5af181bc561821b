import test from 'ava'
import { resolve } from 'node:path'
import { launch } from './kit/parts/program.js'

const file = 'test/domain/phone.test.ts'

/** The patterns of files that `ava` looks for, where it is given these arguments. */
const patternsFor = async (...args: ReadonlyArray<string>): Promise<unknown> => {
  const show = "import('./ava.config.js').then(({ default: { files } }) => console.log(JSON.stringify(files)))"
  const { exited, stdout } = launch(process.execPath, ['--eval', show, 'ava', ...args], process.env)
  await exited
  return JSON.parse(stdout())
}

test('a test file of a suite that is named runs alone, however it is named, and else in its suite', async (t) => {
  for (const name of [file, `./${file}`, resolve(file), '**/phone.test.ts', 'test/domain', resolve('test/domain')])
    t.deepEqual(await patternsFor(name), ['test/**/*.test.ts'], name)
  const all = (await patternsFor('--fail-fast')) as ReadonlyArray<string>
  t.true(all.includes(`!${file}`))
})
