import test from 'ava'
import { exampleLead } from '../../app/composition/start/first-account.js'
import { standardFields } from '../../domain/playbook-settings.js'
import { E } from '../../domain/prelude.js'
import { decodeSubmission } from '../../domain/submission.js'
import { at } from '../kit/domain/samples.js'
import { readmeNamed, readmes, matches, quotedIn } from './readmes.js'

/** Every JSON body of a curl, wherever a document shows one. */
const bodiesIn = (text: string): ReadonlyArray<string> => matches(text, /-d '(\{[^']*\})'/g)

/** The leads that are posted to a post URL. */
const leads = readmes.flatMap(({ path, text }) =>
  matches(text, /(curl [^\n]*"\$POST_URL" -H [^']*'Content-Type: application\/json' -d '\{[^']*\}')/g)
    .flatMap(bodiesIn)
    .map((body) => ({ path, lead: JSON.parse(body) as unknown })),
)

test('every lead that a document posts would be accepted, and so would the one that the first start shows', (t) => {
  t.deepEqual(
    leads.map(({ path }) => path),
    ['README.md', 'app/http/README.md'],
  )
  for (const { path, lead } of [...leads, { path: 'app/composition/start/first-account.ts', lead: exampleLead }]) {
    const decoded = decodeSubmission(standardFields, at(), lead)
    t.true(E.isRight(decoded), `${path}: ${E.isLeft(decoded) ? decoded.left.join(', ') : ''}`)
  }
})

test('the lead of the README is the one that the first start shows', (t) => {
  t.deepEqual(leads[0]?.lead, exampleLead)
})

test('every body of a curl in a document is JSON', (t) => {
  const bodies = readmes.flatMap(({ text }) => bodiesIn(text))
  t.true(bodies.length > 5)
  for (const body of bodies) t.notThrows(() => void JSON.parse(body), body)
})

test('the contract lists the fields that a standard playbook asks for, and no others', (t) => {
  const nothing = decodeSubmission(standardFields, at(), {})
  const required = E.isLeft(nothing) ? nothing.left.map((problem) => problem.replace(' is required', '')) : []
  const readme = readmeNamed('app/http/README.md')
  const [section = ''] = matches(readme.prose, /^#### Contract 4\.6: .*\n([\s\S]*?)^1\. /gm)
  const listed = quotedIn({ ...readme, prose: section }).filter((name) => /^[a-z_]+$/.test(name))
  t.deepEqual(listed.toSorted(), required.toSorted())
})
