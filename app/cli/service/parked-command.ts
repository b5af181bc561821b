import { Command } from 'commander'
import { E, type Either } from '../../../domain/prelude.js'
import { roles } from '../../composition/config.js'
import { run } from '../run.js'
import { answered, bodyOf, calling, type Body } from './calling.js'
import type { Call } from './service-call.js'

export const parkedCommand = new Command('parked')
  .exitOverride()
  .description('list the events that could not be handled, or try one again')
  .addHelpText('after', '\nExamples:\n  $ npx leadloop parked list\n  $ npx leadloop parked retry prk_…')

parkedCommand
  .command('list')
  .description('what waits for an operator, as JSON lines, in the order in which it came')
  .action(() => run('list what is parked', (config) => calling(config, new Set(['api']), listed)))

parkedCommand
  .command('retry')
  .description('try it once more')
  .argument('<id>', 'such as prk_…')
  .action((id: string) =>
    run('retry', (config) => calling(config, new Set(roles), (call, isOwn) => retried(call, id, isOwn))),
  )

type Parked = { readonly id: string; readonly at: string }

const listed = async (call: Call, isOwn: boolean): Promise<Either<string, undefined>> => {
  const all = await allParked(call, isOwn)
  if (E.isLeft(all)) return all
  for (const parked of all.right) write(parked)
  return E.right(undefined)
}

/** In milliseconds: how long the service that runs for this alone is given to answer. */
const longestRetry = 30_000
const pause = 100

const retried = async (call: Call, id: string, isOwn: boolean): Promise<Either<string, undefined>> => {
  const before = await allParked(call, isOwn)
  if (E.isLeft(before)) return before
  const asked = await answered(call, 'POST', `/parked/${encodeURIComponent(id)}/retry`)
  if (E.isLeft(asked)) return asked
  const was = before.right.find((parked) => parked.id === id)
  for (let waited = 0; isOwn && was !== undefined; waited += pause) {
    const now = await allParked(call, isOwn)
    if (E.isLeft(now)) return now
    const is = now.right.find((parked) => parked.id === id)
    if (is === undefined) break
    if (is.at !== was.at) return E.left('It failed again: `leadloop parked list` says why.')
    if (waited > longestRetry)
      return E.left('It was not tried within half a minute: start the service and ask once more.')
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  write(asked.right['parked'])
  return E.right(undefined)
}

/** A service that runs for the list alone builds no read model, so that another try would not help. */
const notBuilt = "What is parked can't be read: if that was never built, `leadloop rebuild parked_events` builds it."

const allParked = async (call: Call, isOwn: boolean): Promise<Either<string, ReadonlyArray<Parked>>> => {
  const all: Array<Parked> = []
  let cursor: unknown = ''
  while (typeof cursor === 'string') {
    const called = await call('GET', `/parked?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`)
    if (E.isLeft(called)) return called
    if (isOwn && called.right.status === 503) return E.left(notBuilt)
    const page: Either<string, Body> = bodyOf(called.right)
    if (E.isLeft(page)) return page
    all.push(...(page.right['parked'] as ReadonlyArray<Parked>))
    cursor = page.right['next_cursor']
  }
  return E.right(all)
}

const write = (line: unknown): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
