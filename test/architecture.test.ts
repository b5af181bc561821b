import test from 'ava'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import ts from 'typescript'

type Import = { readonly from: string; readonly to: string }

const folders = ['domain', 'projections', 'adapters', 'app'] as const
type Folder = (typeof folders)[number]

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))

const sources = folders.flatMap(filesIn)

/** What is imported, from the root on: a file of ours by its path, a package by its name. */
const resolved = (from: string, name: string): string =>
  name.startsWith('.') ? normalize(join(dirname(from), name)).replace(/\.js$/, '.ts') : name

/** Every import of the sources. */
const imports: ReadonlyArray<Import> = sources.flatMap((from) =>
  ts
    .preProcessFile(readFileSync(from, 'utf8'))
    .importedFiles.map(({ fileName }) => ({ from, to: resolved(from, fileName) })),
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
    /\/(abortable|codec|append-limit|approximate-size|backoff|ports|leases|mail-outcome|mail-transport|sender-name|webhook-client|messenger|text-provider|consent-verifier|events|event|instant|ids|prelude|stored-event|stream-name|derived-id|phone|store-failed|web-address)\.ts$/
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
    'libphonenumber-js/core': 'domain/phone.ts',
    'libphonenumber-js/min/metadata': 'domain/phone.ts',
    'node:crypto': 'domain/derived-id.ts',
    'sms-segments-calculator': 'domain/message-segments.ts',
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

test('only main and the command line read the environment', (t) => {
  const readers = sources.filter((path) => /process\.env/.test(readFileSync(path, 'utf8')))
  t.deepEqual(
    readers.filter((path) => path !== 'app/main.ts' && !path.startsWith('app/cli/')),
    [],
  )
})

test('who sends texts is named by its adapter, and by what chooses it', (t) => {
  const namers = sources.filter((path) => /twilio/i.test(readFileSync(path, 'utf8')))
  t.deepEqual(
    namers.filter((path) => !path.startsWith('adapters/twilio/') && !path.startsWith('app/composition/')),
    [],
  )
})

/** Every circle that is met on the way along `arrows`, written as a way that ends where it began. */
const circlesAmong = (arrows: ReadonlyArray<Import>): ReadonlyArray<string> => {
  const to = new Map<string, Array<string>>()
  for (const arrow of arrows) to.set(arrow.from, [...(to.get(arrow.from) ?? []), arrow.to])
  const done = new Set<string>()
  const circles: Array<string> = []
  const visit = (place: string, trail: ReadonlyArray<string>): void => {
    if (trail.includes(place)) circles.push([...trail.slice(trail.indexOf(place)), place].join(' -> '))
    if (done.has(place) || trail.includes(place)) return
    for (const next of to.get(place) ?? []) visit(next, [...trail, place])
    done.add(place)
  }
  for (const place of to.keys()) visit(place, [])
  return circles
}

test('imports between files go round in no circle', (t) => {
  t.deepEqual(circlesAmong(imports), [])
})

/** Every folder of the sources, with its rooms: its direct children. */
const rooms = new Map<string, Set<string>>()
for (const source of sources) {
  for (let room = source, folder = dirname(room); folder !== '.'; room = folder, folder = dirname(room)) {
    rooms.set(folder, (rooms.get(folder) ?? new Set()).add(room))
  }
}

test('a circle is found where there is one', (t) => {
  const chain = ['a', 'b', 'c'].map((from, n, all) => ({ from, to: all[n + 1] ?? 'd' }))
  t.deepEqual(circlesAmong(chain), [])
  t.deepEqual(circlesAmong([...chain, { from: 'd', to: 'b' }]), ['b -> c -> d -> b'])
})

test('imports between the rooms of a folder go round in no circle', (t) => {
  const circles = [...rooms].flatMap(([folder, ofFolder]) => {
    const roomOf = (path: string): string | undefined =>
      [...ofFolder].find((room) => path === room || path.startsWith(`${room}/`))
    const arrows = imports.flatMap((one) => {
      const [from, to] = [roomOf(one.from), roomOf(one.to)]
      return from === undefined || to === undefined || from === to ? [] : [{ from, to }]
    })
    return circlesAmong(arrows).map((circle) => `${folder}: ${circle}`)
  })
  t.deepEqual(circles, [])
})

test('a folder has at most twelve rooms', (t) => {
  const crowded = [...rooms].filter(([folder, { size }]) => folder !== 'domain' && size > 12)
  t.deepEqual(
    crowded.map(([folder, ofFolder]) => `${folder}: ${[...ofFolder].map((room) => basename(room)).join(', ')}`),
    [],
  )
})

test('a file is named after its one concept, and folders are at most three deep', (t) => {
  const vague = /(^|\/)(index|utils?|helpers?|types|common|manager|service|misc)\.ts$/
  t.deepEqual(
    sources.filter((path) => vague.test(path) || path.split('/').length > 4),
    [],
  )
})

/** `a, type b, c as d` and `a, c: d` name a, b and c. */
const namesIn = (list: string): ReadonlyArray<string> =>
  list.split(',').flatMap((one) => /^\s*(?:type )?(\w+)/.exec(one)?.[1] ?? [])

/** What a file imports, each as `file name`. */
const importedBy = (from: string): ReadonlyArray<string> => {
  const text = readFileSync(from, 'utf8')
  const named = [
    ...text.matchAll(/^(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from '([^']+)'/gm),
    ...text.matchAll(/const \{([^}]*)\} = await import\('([^']+)'\)/g),
  ]
  return named.flatMap(([, list = '', name = '']) => namesIn(list).map((one) => `${resolved(from, name)} ${one}`))
}

/** What a file exports of its own, each as `file name`. */
const exportedBy = (path: string): ReadonlyArray<string> => {
  const declared = /^export (?:async )?(?:const|class|type|function\*?) (\w+)/gm
  return [...readFileSync(path, 'utf8').matchAll(declared)].map(([, name = '']) => `${path} ${name}`)
}

test('every name that a file exports is imported by another one', (t) => {
  const imported = new Set([...sources, ...filesIn('test')].flatMap(importedBy))
  const exported = sources.flatMap(exportedBy)
  t.true(exported.length > 500, `${exported.length} names`)
  t.deepEqual(
    [...new Set(exported)].filter((name) => !imported.has(name)),
    [],
  )
})
