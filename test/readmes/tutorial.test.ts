import test from 'ava'
import { readdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import * as prettier from 'prettier'
import ts from 'typescript'
import { distinct, readmeNamed, matches, sourcesIn } from './readmes.js'

const tutorial = readmeNamed('test/TUTORIAL.md').text

/** Its changes, and between them the paragraphs that say in which files the compiler asks for something. */
const steps = [...tutorial.matchAll(/^```(diff|ts)\n([\s\S]*?)^```$|^\*\*The compiler\*\*([\s\S]*?)\n$/gm)]

/** Every source that it changes. */
const paths = distinct(matches(tutorial, /^(?:\+\+\+|\/\/) (\S+\.ts)$/gm))

/** The files that the tutorial has changed so far, by their paths from the root. */
const changed = new Map<string, string>()

/** `path`, or a place in it, with the added or without the removed lines: what it becomes, or what it was. */
const sideOf = (hunk: string, sign: '+' | '-'): string =>
  hunk
    .trimEnd()
    .split('\n')
    .filter((line) => line === '' || line.startsWith(' ') || line.startsWith(sign))
    .map((line) => `${line.slice(1)}\n`)
    .join('')

/** A diff without line numbers: the lines that it keeps and removes must stand in the file exactly once. */
const applyHunk = (path: string, hunk: string): void => {
  const [before, after] = [sideOf(hunk, '-'), sideOf(hunk, '+')]
  const text = `\n${changed.get(path) ?? ts.sys.readFile(path) ?? ''}`
  const places = text.split(`\n${before}`)
  if (before !== '' && places.length !== 2) throw new Error(`${path} has ${places.length - 1} times:\n${before}`)
  changed.set(path, before === '' ? after : places.join(`\n${after}`).slice(1))
}

const applyDiff = (diff: string): void => {
  for (const part of diff.split(/^\+\+\+ /m).slice(1)) {
    const [path = '', ...lines] = part.split('\n')
    for (const hunk of lines.join('\n').split(/^@@\n/m)) applyHunk(path, hunk)
  }
}

/** A new file, which names itself in its first line. */
const create = (text: string): void => {
  const [path = ''] = matches(text, /^\/\/ (\S+)\n/g)
  changed.set(path, text.slice(text.indexOf('\n') + 1))
}

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)).config,
  ts.sys,
  process.cwd(),
  { noEmit: true, incremental: false },
)
const unchanged = new Map<string, ts.SourceFile | undefined>()
let program: ts.Program | undefined

/** What the compiler finds wrong in these files as they are now, by file; one that is not there yet is left out. */
const errorsIn = (files: ReadonlyArray<string>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const disk = ts.createCompilerHost(options)
  const memory = new Map([...changed].map(([path, text]) => [resolve(path), text]))
  const host: ts.CompilerHost = {
    ...disk,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
    fileExists: (path) => memory.has(resolve(path)) || disk.fileExists(path),
    readFile: (path) => memory.get(resolve(path)) ?? disk.readFile(path),
    getSourceFile: (path, version) => {
      const text = memory.get(resolve(path))
      if (text !== undefined) return ts.createSourceFile(path, text, version)
      if (!unchanged.has(path)) unchanged.set(path, disk.getSourceFile(path, version))
      return unchanged.get(path)
    },
  }
  const present = files.filter((path) => host.fileExists(path))
  const compiled = ts.createProgram(present, options, host, program)
  program = compiled
  const errors = new Map<string, ReadonlyArray<string>>()
  for (const path of present) {
    const file = compiled.getSourceFile(path)
    const found = [...compiled.getSyntacticDiagnostics(file), ...compiled.getSemanticDiagnostics(file)]
    const told = found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
    if (told.length > 0) errors.set(path, told)
  }
  return errors
}

test('the tutorial can be followed: its changes fit the sources, and the compiler asks where it says', async (t) => {
  t.timeout(120_000)
  t.true(steps.length > 10)
  for (const [, language, change = '', said = ''] of steps) {
    if (language === 'diff') applyDiff(change)
    else if (language === 'ts') create(change)
    else t.deepEqual([...errorsIn(paths).keys()], distinct(matches(said, /[^*]`(\S+\.ts)`/g)))
  }
  const all = distinct([...paths, ...sourcesIn('domain'), ...sourcesIn('test/domain')])
  t.deepEqual(errorsIn(all), new Map())
  for (const path of paths) {
    const config = { ...(await prettier.resolveConfig(path)), filepath: path }
    t.true(await prettier.check(changed.get(path) ?? '', config), path)
  }
  // What it adds must find room, as `test/architecture.test.ts` asks for.
  for (const folder of distinct(paths.map(dirname)).filter((one) => one.startsWith('projections'))) {
    const added = paths.filter((path) => dirname(path) === folder).map((path) => basename(path))
    const rooms = distinct([...readdirSync(folder), ...added]).filter((name) => !name.endsWith('.md'))
    t.true(rooms.length <= 12, `${folder}: ${rooms.join(', ')}`)
  }
})
