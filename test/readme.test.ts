import test from 'ava'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const readme = readFileSync('README.md', 'utf8')

/** What stands in backticks, examples that are fenced off apart. */
const quoted: ReadonlyArray<string> = [...readme.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(
  ([, text = '']) => text,
)

const folders = ['domain', 'projections', 'adapters', 'app', 'test', '.ci']

const isPath = (text: string): boolean =>
  folders.some((folder) => text === folder || text.startsWith(`${folder}/`)) ||
  /^[\w.-]+\.(ts|js|json|ya?ml|md)$/.test(text)

const namesIn = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort()

test('every path that the README names is there', (t) => {
  const paths = quoted.filter(isPath)
  t.true(paths.length > 30)
  t.deepEqual(
    paths.filter((path) => !existsSync(path)),
    [],
  )
})

test('every command that the README names is there, and the other way round', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: Record<string, string> }
  const named = namesIn(readme, /\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)
  t.deepEqual(
    named,
    Object.keys(scripts)
      .filter((name) => !/^(pre|post)/.test(name))
      .sort(),
  )
})

test('every setting stands in the table of the README, and the other way round', (t) => {
  const settings = namesIn(readFileSync('app/composition/config.ts', 'utf8'), /^ {2}([A-Z][A-Z_]+):/gm)
  t.true(settings.includes('PORT'))
  t.deepEqual(namesIn(readme, /^\| `([A-Z][A-Z_]+)` \|/gm), settings)
})

test('every metric stands in the README, and the other way round', (t) => {
  const metrics = namesIn(readFileSync('app/http/metrics.ts', 'utf8'), /name: '(leadloop_\w+)'/g)
  t.true(metrics.length > 0)
  t.deepEqual(namesIn(readme, /`(leadloop_\w+)`/g), metrics)
})

test('every event type stands in the README, and the other way round', (t) => {
  const sources = readdirSync('domain').map((file) => readFileSync(join('domain', file), 'utf8'))
  const types = namesIn(sources.join('\n'), /eventOf\(\s*'(\w+)'/g)
  t.true(types.includes('LeadSubmitted'))
  const rows = readme.split('\n').filter((line) => /^\| `[a-z_]+-[a-z]{3}_…`/.test(line))
  t.deepEqual(namesIn(rows.join('\n'), /`([A-Z]\w+[a-z])`/g), types)
})

test('every link inside the README leads to a heading', (t) => {
  const anchors = namesIn(readme, /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
  t.deepEqual(
    namesIn(readme, /\]\(#([^)]+)\)/g).filter((anchor) => !anchors.includes(anchor)),
    [],
  )
})
