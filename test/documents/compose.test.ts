import test from 'ava'
import { readFileSync } from 'node:fs'

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
