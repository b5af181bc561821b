import test from 'ava'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { distinct, readmeNamed, filesIn, tableIn } from './readmes.js'

const compose = readFileSync('docker-compose.yml', 'utf8')

/** What stands in quotes in the lists of ports. */
const published = [...compose.matchAll(/^ +ports:\n((?: +- '.*'\n)+)/gm)].flatMap(([, list = '']) =>
  [...list.matchAll(/'(.*)'/g)].map(([, port = '']) => port),
)

test('the event store sees no setting of the service: it would take EVENTSTORE_URL for an unknown option and not start', (t) => {
  const service = /^ {2}eventstore:\n((?: {4}.*\n|\n)+)/m.exec(compose)?.[1] ?? ''
  t.regex(service, /EVENTSTORE_INSECURE/)
  t.notRegex(service, /EVENTSTORE_URL|env_file|<<:/)
})

test('docker-compose publishes every port to this machine alone, unless it is told otherwise', (t) => {
  t.is(published.length, 3)
  t.is(compose.match(/^ +ports:$/gm)?.length, 3)
  for (const port of published) t.regex(port, /^(127\.0\.0\.1|\$\{PUBLISH_AT:-127\.0\.0\.1\}):/, port)
})

test('every setting can be given to the containers, but those that the image or the file itself decides', (t) => {
  const settings = tableIn(readmeNamed('app/README.md'), 'setting').map(([cell = '']) => cell.replaceAll('`', ''))
  t.true(settings.length > 15)
  // No two processes agree on a clock that runs faster.
  const decided = ['HOST', 'DATA_DIR', 'EVENTSTORE_URL', 'MONGODB_URL', 'CLOCK_RATE']
  t.deepEqual(
    settings.filter((name) => !decided.includes(name) && !compose.includes(`\${${name}:-`)),
    [],
  )
})

test('the image has the files of SQL that commands run, where they look for them', (t) => {
  const copied = [...compose.matchAll(/^ +COPY --from=build \/app\/(\S+)\/\*\.sql (\S+)\/$/gm)]
  for (const [, from, to] of copied) t.is(from, to)
  const folders = distinct(
    filesIn('app')
      .filter((path) => path.endsWith('.sql'))
      .map(dirname),
  )
  t.true(folders.length > 0)
  t.deepEqual(copied.map(([, , to]) => to).toSorted(), folders)
})
