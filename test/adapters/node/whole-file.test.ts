import test from 'ava'
import { lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { wholeFile } from '../../../adapters/node/whole-file.js'
import { openPipe } from '../../kit/parts/pipe.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

test('a pipe is written to, and no file takes its place', async (t) => {
  const directory = temporaryDirectory(t)
  const pipe = join(directory, 'pipe')
  const read = openPipe(t, pipe)
  await wholeFile(pipe, (part) => writeFile(part, 'told'))
  t.true(lstatSync(pipe).isFIFO())
  t.is(read(), 'told')
  t.deepEqual(readdirSync(directory), ['pipe'])
})

test('a link stays one, and what it leads to is replaced', async (t) => {
  const directory = temporaryDirectory(t)
  const [file, link] = [join(directory, 'file'), join(directory, 'link')]
  writeFileSync(file, 'before')
  symlinkSync('file', link)
  await wholeFile(link, (part) => writeFile(part, 'after'))
  t.true(lstatSync(link).isSymbolicLink())
  t.is(readFileSync(file, 'utf8'), 'after')
  t.deepEqual(readdirSync(directory), ['file', 'link'])
})
