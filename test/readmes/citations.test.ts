import test from 'ava'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readmeNamed, readmes, folders, sourcesIn } from './readmes.js'

type Cited = { readonly at: string; readonly text: string }

const files = [
  ...folders.flatMap(sourcesIn),
  ...readdirSync('.ci').map((name) => join('.ci', name)),
  'docker-compose.yml',
  'eslint.config.js',
  'ava.config.js',
]

/** Each match with its file and line. */
const citedIn = (path: string, pattern: RegExp): ReadonlyArray<Cited> => {
  const text = readFileSync(path, 'utf8')
  return [...text.matchAll(pattern)].map((match) => ({
    at: `${path}:${text.slice(0, match.index).split('\n').length}`,
    text: match[0].replaceAll(/\s+(\*\s|\/\/\s)?\s*/g, ' '),
  }))
}

/** The sections of the contract and their rules, as they are cited: `4.5`, and `4.5.4` for its fourth rule. */
const contract = (): ReadonlySet<string> => {
  const numbers = new Set<string>()
  let section: string | undefined
  for (const line of readmeNamed('app/http/README.md').prose.split('\n')) {
    if (line.startsWith('#')) section = /^#+ Contract (\d+(?:\.\d+)*): /.exec(line)?.[1]
    const rule = /^(\d+)\. /.exec(line)?.[1]
    if (section === undefined) continue
    if (line.startsWith('#')) numbers.add(section)
    if (rule !== undefined) numbers.add(`${section}.${rule}`)
  }
  return numbers
}

const number = '\\d+(?:\\.\\d+)*'
/** Within a sentence, which may go on in the next line of a comment. */
const gap = '\\s+(?:\\*\\s+|//\\s+)?'
const citation = new RegExp(
  `\\bcontract${gap}${number}(?:(?:,?${gap}rules?${gap}|,${gap}|${gap}and${gap}|${gap}to${gap})${number})*`,
  'gi',
)

/** `contract 5, rules 1 and 2` cites 5, 5.1 and 5.2. */
const numbersOf = (text: string): ReadonlyArray<string> => {
  let section = ''
  let isRule = false
  return [...text.matchAll(/rules?|[\d.]*\d/g)].flatMap(([word]) => {
    if (word.startsWith('rule')) {
      isRule = true
      return []
    }
    if (isRule && !word.includes('.')) return [`${section}.${word}`]
    section = word
    return [word]
  })
}

test('a citation of the contract is read as it is meant', (t) => {
  t.deepEqual(numbersOf('contract 4.5'), ['4.5'])
  t.deepEqual(numbersOf('contract 4.5, rule 4'), ['4.5', '4.5.4'])
  t.deepEqual(numbersOf('contract 5, rules 1 and 2'), ['5', '5.1', '5.2'])
  t.deepEqual(numbersOf('contract 2.3, rule 4.5.1'), ['2.3', '4.5.1'])
  t.deepEqual(numbersOf('Contract 4.1 to 4.5'), ['4.1', '4.5'])
})

test('every section and every rule of the contract that is cited stands in app/http/README.md', (t) => {
  const known = contract()
  t.true(known.has('4.5.4') && known.has('6.6.6') && known.has('9') && !known.has('4.7'))
  const cited = [...files, ...readmes.map(({ path }) => path)].flatMap((path) => citedIn(path, citation))
  t.true(cited.length > 50)
  t.deepEqual(
    cited.filter(({ text }) => !numbersOf(text).every((one) => known.has(one))).map(({ at, text }) => `${at}: ${text}`),
    [],
  )
})

test('the rules of each section of the contract are numbered from 1 on', (t) => {
  const known = contract()
  const orphans = [...known].filter((one) => {
    const [, section = '', last = ''] = /^(.+)\.(\d+)$/.exec(one) ?? []
    return last !== '' && last !== '1' && !known.has(`${section}.${Number(last) - 1}`)
  })
  t.deepEqual(orphans, [])
})

test('nothing in the sources cites a document that is not in this repository', (t) => {
  const elsewhere = new RegExp(`\\b(?:design|reference)(?:,?${gap}sections?)?${gap}${number}`, 'gi')
  const names = readmes.map(({ path }) => basename(path))
  const cited = files.flatMap((path) => [
    ...citedIn(path, elsewhere),
    ...citedIn(path, /[\w./-]*\w\.md\b/g).filter(({ text }) => !existsSync(text) && !names.includes(text)),
  ])
  t.deepEqual(
    cited.map(({ at, text }) => `${at}: ${text}`),
    [],
  )
})
