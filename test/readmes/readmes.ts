import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A README of this repository, or its tutorial; `prose` is its text without what is fenced off as code. */
export type Readme = { readonly path: string; readonly text: string; readonly prose: string }

export const folders = ['domain', 'projections', 'adapters', 'app', 'test'] as const

/** Every file under a folder, by its path from the root. */
export const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))

export const sourcesIn = (folder: string): ReadonlyArray<string> =>
  filesIn(folder).filter((path) => path.endsWith('.ts'))

const readmeAt = (path: string): Readme => {
  const text = readFileSync(path, 'utf8')
  return { path, text, prose: text.replaceAll(/^```[\s\S]*?^```$/gm, '') }
}

export const readmes: ReadonlyArray<Readme> = [
  'README.md',
  ...folders.flatMap(filesIn).filter((path) => path.endsWith('.md')),
].map(readmeAt)

export const readmeNamed = (path: string): Readme => {
  const found = readmes.find((readme) => readme.path === path)
  if (found === undefined) throw new Error(`there is no document ${path}`)
  return found
}

/** What stands in backticks. */
export const quotedIn = ({ prose }: Readme): ReadonlyArray<string> => matches(prose, /`([^`\n]+)`/g)

/** The first group of each match. */
export const matches = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(([, group = '']) => group)

export const distinct = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].toSorted()

/** The cells of each row of the table under a heading of its columns. */
export const tableIn = ({ path, prose }: Readme, firstColumn: string): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = prose.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${firstColumn} |`))
  if (start < 0) throw new Error(`${path} has no table of ${firstColumn}`)
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
