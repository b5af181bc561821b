import test from 'ava'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'

type Import = { readonly from: string; readonly to: string }

const folders = ['domain', 'projections', 'adapters', 'app'] as const
type Folder = (typeof folders)[number]

const sources: ReadonlyArray<string> = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

/** Every import of the sources: a file of ours by its path from the root, a package by its name. */
const imports: ReadonlyArray<Import> = sources.flatMap((from) =>
  ts.preProcessFile(readFileSync(from, 'utf8')).importedFiles.map(({ fileName }) => ({
    from,
    to: fileName.startsWith('.') ? normalize(join(dirname(from), fileName)).replace(/\.js$/, '.ts') : fileName,
  })),
)

const isIn = (folder: Folder, path: string): boolean => path.startsWith(`${folder}/`)
const isOurs = (path: string): boolean => folders.some((folder) => isIn(folder, path))
const shown = ({ from, to }: Import): string => `${from} imports ${to}`

const mayImport: Readonly<Record<Folder, ReadonlyArray<Folder>>> = {
  domain: ['domain'],
  projections: ['domain', 'projections'],
  adapters: ['domain', 'projections', 'adapters'],
  app: ['domain', 'projections', 'adapters', 'app'],
}

for (const folder of folders) {
  test(`${folder} imports only what lies further in`, (t) => {
    const inward = mayImport[folder]
    const outward = imports.filter(
      ({ from, to }) => isIn(folder, from) && isOurs(to) && !inward.some((allowed) => isIn(allowed, to)),
    )
    t.deepEqual(outward.map(shown), [])
  })
}

test('only the composition root and the command line import adapters', (t) => {
  const importers = imports.filter(
    ({ from, to }) =>
      isIn('app', from) && isIn('adapters', to) && !from.startsWith('app/composition/') && !from.startsWith('app/cli/'),
  )
  t.deepEqual(importers.map(shown), [])
})

test('adapters know the rest by its ports, not by its deciders and runners', (t) => {
  const allowed =
    /\/(abortable|ports|leases|sender|events|event|instant|ids|prelude|stored-event|derived-id|phone|store-failed)\.ts$/
  const known = imports.filter(
    ({ from, to }) => isIn('adapters', from) && isOurs(to) && !isIn('adapters', to) && !allowed.test(to),
  )
  t.deepEqual(known.map(shown), [])
})

test('the domain is pure: each package that it uses has one door', (t) => {
  const doors: Readonly<Record<string, string>> = {
    'fp-ts/lib/Either.js': 'domain/prelude.ts',
    'fp-ts/lib/TaskEither.js': 'domain/prelude.ts',
    'fp-ts/lib/function.js': 'domain/prelude.ts',
    'io-ts': 'domain/codec.ts',
    'libphonenumber-js': 'domain/phone.ts',
    'node:crypto': 'domain/derived-id.ts',
  }
  const others = imports.filter(({ from, to }) => isIn('domain', from) && !isOurs(to) && doors[to] !== from)
  t.deepEqual(others.map(shown), [])
})

test('fp-ts and io-ts have one door in the whole project', (t) => {
  const others = imports.filter(
    ({ from, to }) => /^(fp-ts|io-ts)/.test(to) && !['domain/prelude.ts', 'domain/codec.ts'].includes(from),
  )
  t.deepEqual(others.map(shown), [])
})

test('projections do no input or output of their own', (t) => {
  const others = imports.filter(({ from, to }) => isIn('projections', from) && !isOurs(to) && to !== 'lru-cache')
  t.deepEqual(others.map(shown), [])
})

test('only main reads the environment', (t) => {
  const readers = sources.filter((path) => /process\.env/.test(readFileSync(path, 'utf8')))
  t.deepEqual(
    readers.filter((path) => path !== 'app/main.ts' && !path.startsWith('app/cli/')),
    [],
  )
})

test('imports between files go round in no circle', (t) => {
  const to = new Map<string, ReadonlyArray<string>>(
    sources.map((source) => [
      source,
      imports.filter((one) => one.from === source && isOurs(one.to)).map((one) => one.to),
    ]),
  )
  const done = new Set<string>()
  const circles: Array<string> = []
  const visit = (path: string, trail: ReadonlyArray<string>): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    for (const next of to.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const source of sources) visit(source, [])
  t.deepEqual(circles, [])
})

test('no file is called after nothing, and folders are at most three deep', (t) => {
  const vague = /(^|\/)(index|utils?|helpers?|types|common|manager|service|misc)\.ts$/
  t.deepEqual(
    sources.filter((path) => vague.test(path) || path.split('/').length > 4),
    [],
  )
})
