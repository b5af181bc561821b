import test from 'ava'
import * as prettier from 'prettier'
import { basename, resolve } from 'node:path'
import ts from 'typescript'
import { distinct, documentNamed, matches, sourcesIn } from './documents.js'

const blocks = [...documentNamed('test/TUTORIAL.md').text.matchAll(/^```(diff|ts|text)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', text = '']) => ({ language, text }),
)

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

/** Every error that the compiler finds in these files as they are now, `file: error code: words`. */
const errorsIn = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const disk = ts.createCompilerHost(options)
  const memory = new Map([...changed].map(([path, text]) => [resolve(path), text]))
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => memory.has(resolve(path)) || disk.fileExists(path),
    readFile: (path) => memory.get(resolve(path)) ?? disk.readFile(path),
    getSourceFile: (path, version) => {
      const text = memory.get(resolve(path))
      if (text !== undefined) return ts.createSourceFile(path, text, version)
      if (!unchanged.has(path)) unchanged.set(path, disk.getSourceFile(path, version))
      return unchanged.get(path)
    },
  }
  const compiled = ts.createProgram(paths, options, host, program)
  program = compiled
  return paths.flatMap((path) => {
    const file = compiled.getSourceFile(path)
    return [...compiled.getSyntacticDiagnostics(file), ...compiled.getSemanticDiagnostics(file)].map(
      ({ code, messageText }) => `${path}: error TS${code}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    )
  })
}

/** What the compiler says of the files that these lines name; an error that one of them begins is told by that line. */
const saidOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  errorsIn(distinct(lines.map((line) => line.slice(0, line.indexOf(':'))))).map(
    (error) => lines.find((line) => error.startsWith(line)) ?? error,
  )

/** The domain and its tests where they import one of these files: a change of its types may be an error there. */
const importersOf = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const imported = paths.map((path) => `/${basename(path, '.ts')}.js'`)
  return [...sourcesIn('domain'), ...sourcesIn('test/domain')].filter((path) =>
    imported.some((name) => ts.sys.readFile(path)?.includes(name)),
  )
}

test('the tutorial can be followed: its changes fit the sources, and the compiler says what it says', async (t) => {
  t.timeout(120_000)
  for (const { language, text } of blocks) {
    const lines = text.trimEnd().split('\n')
    if (language === 'diff') applyDiff(text)
    else if (language === 'ts') create(text)
    else t.deepEqual(saidOf(lines).toSorted(), lines.toSorted())
  }
  const sources = [...changed].filter(([path]) => path.endsWith('.ts'))
  const paths = sources.map(([path]) => path)
  t.deepEqual(errorsIn(distinct([...paths, ...importersOf(paths)])), [])
  for (const [path, text] of sources) {
    t.true(await prettier.check(text, { ...(await prettier.resolveConfig(path)), filepath: path }), path)
  }
})
