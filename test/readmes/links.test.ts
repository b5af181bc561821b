import test from 'ava'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { distinct, readmes, folders, matches, quotedIn, type Readme } from './readmes.js'

const isPath = (text: string): boolean =>
  [...folders, '.ci'].some((folder) => text === folder || text.startsWith(`${folder}/`)) ||
  /^[\w.-]+\.(ya?ml|md)$/.test(text)

for (const path of ['README.md', 'test/TUTORIAL.md']) {
  test(`${path} has at most 200 lines`, (t) => {
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    t.true(lines.length <= 200, `it has ${lines.length}`)
  })
}

test('every path that a document names is there', (t) => {
  const named = readmes.flatMap((readme) => quotedIn(readme).map((path) => ({ path, by: readme.path })))
  const paths = named.filter(({ path }) => isPath(path))
  t.true(paths.length > 100)
  t.deepEqual(
    paths.filter(({ path }) => !existsSync(path)).map(({ path, by }) => `${by} names ${path}`),
    [],
  )
})

/** The anchor of each heading: its words in small letters, with dashes between. */
const anchorsOf = ({ prose }: Readme): ReadonlySet<string> =>
  new Set(
    matches(prose, /^#+ (.+)$/gm).map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  )

const problemOf = (readme: Readme, link: string): string | undefined => {
  if (/^([a-z]+:|\/)/.test(link)) return 'is not relative'
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? readme.path : normalize(join(dirname(readme.path), file))
  if (!existsSync(path)) return 'leads to no file'
  if (anchor === undefined) return undefined
  const target = readmes.find((one) => one.path === path)
  return target !== undefined && anchorsOf(target).has(anchor) ? undefined : 'leads to no heading'
}

for (const readme of readmes) {
  test(`every link of ${readme.path} leads to a file or a heading of this repository`, (t) => {
    const links = distinct(matches(readme.prose, /\]\(([^)\s]+)\)/g))
    const problems = links.flatMap((link) => {
      const problem = problemOf(readme, link)
      return problem === undefined ? [] : [`${link} ${problem}`]
    })
    t.deepEqual(problems, [])
  })

  test(`no two headings of ${readme.path} share an anchor`, (t) => {
    t.is(anchorsOf(readme).size, matches(readme.prose, /^#+ (.+)$/gm).length)
  })
}

test('every document can be reached from the README', (t) => {
  const reached = new Set(['README.md'])
  for (const path of reached) {
    const readme = readmes.find((one) => one.path === path)
    for (const link of matches(readme?.prose ?? '', /\]\(([^)#\s]+\.md)/g))
      reached.add(normalize(join(dirname(path), link)))
  }
  t.deepEqual(
    readmes.map(({ path }) => path).filter((path) => !reached.has(path)),
    [],
  )
})
