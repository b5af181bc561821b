import test from 'ava'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { distinct, readmeNamed, matches, sourcesIn } from './readmes.js'

const parts = ['app', 'projections', 'adapters', 'domain']

const [picture = ''] = matches(readmeNamed('README.md').text, /^```mermaid\n([\s\S]*?)^```$/gm)

/** A name, which may be followed by its label, at an end of an arrow or alone. */
const node = '([\\w-]+)(?:\\["[^"]*"\\])?'

const edgesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^ *${node} --> ${node}$`, 'gm'))].map(([, from = '', to = '']) => `${from} --> ${to}`)

/** The rooms that are drawn inside a part; none where it is one box. */
const roomsDrawnIn = (part: string): ReadonlyArray<string> => {
  const [inside = ''] = matches(picture, new RegExp(`^ *subgraph ${part}\\[.*\\]\\n([\\s\\S]*?)^ *end$`, 'gm'))
  return distinct(edgesIn(inside).flatMap((edge) => edge.split(' --> ')))
}

const foldersIn = (part: string): ReadonlyArray<string> =>
  readdirSync(part, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))

/** What the imports draw: arrows between parts, and between the rooms of a part that shows its rooms. */
const realEdges = (): ReadonlyArray<string> =>
  distinct(
    parts.flatMap(sourcesIn).flatMap((from) =>
      ts.preProcessFile(readFileSync(from, 'utf8')).importedFiles.flatMap(({ fileName }) => {
        if (!fileName.startsWith('.')) return []
        const [part = '', room = ''] = from.split('/')
        const [otherPart = '', otherRoom = ''] = normalize(join(dirname(from), fileName)).split('/')
        if (part !== otherPart) return [`${part} --> ${otherPart}`]
        const rooms = roomsDrawnIn(part)
        return room !== otherRoom && rooms.includes(room) && rooms.includes(otherRoom)
          ? [`${room} --> ${otherRoom}`]
          : []
      }),
    ),
  )

test('the picture of the README shows every folder of the parts whose rooms it shows', (t) => {
  const shown = parts.filter((part) => roomsDrawnIn(part).length > 0)
  t.deepEqual(shown, ['app', 'projections'])
  for (const part of shown) t.deepEqual(roomsDrawnIn(part), distinct(foldersIn(part)), part)
})

test('every arrow of the picture is an import, and every import between what it shows is an arrow', (t) => {
  const drawn = edgesIn(picture)
  t.is(drawn.length, picture.split('-->').length - 1, 'an arrow could not be read')
  t.deepEqual(distinct(drawn), realEdges())
})
