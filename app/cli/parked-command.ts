import { Command } from 'commander'
import { E, type Either } from '../../domain/prelude.js'
import { reasonOf } from '../../projections/subscriptions/failure-reason.js'
import type { Config } from '../composition/config.js'
import { run } from './run.js'

export const parkedCommand = new Command('parked')
  .description('list the events that could not be handled, or try one again')
  .addHelpText('after', '\nExamples:\n  $ npx leadloop parked list\n  $ npx leadloop parked retry prk_…')

parkedCommand
  .command('list')
  .description('what waits for an operator, as JSON lines, in the order in which it came')
  .action(() => run('list what is parked', listed))

parkedCommand
  .command('retry')
  .description('try it once more')
  .argument('<id>', 'such as prk_…')
  .action((id: string) =>
    run('retry', async (config) => {
      const answered = await asked(config, 'POST', `/parked/${encodeURIComponent(id)}/retry`)
      if (E.isRight(answered)) write(answered.right['parked'])
      return E.map(() => undefined)(answered)
    }),
  )

type Body = Readonly<Record<string, unknown>>

const listed = async (config: Config): Promise<Either<string, undefined>> => {
  let cursor: unknown = ''
  while (typeof cursor === 'string') {
    const page: Either<string, Body> = await asked(
      config,
      'GET',
      `/parked?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    if (E.isLeft(page)) return page
    for (const parked of page.right['parked'] as ReadonlyArray<unknown>) write(parked)
    cursor = page.right['next_cursor']
  }
  return E.right(undefined)
}

/** The body of an answer that is no problem. */
const asked = async (config: Config, method: 'GET' | 'POST', path: string): Promise<Either<string, Body>> => {
  try {
    const { callService } = await import('./service-call.js')
    const called = await callService(config, method, path)
    if (E.isLeft(called)) return called
    const body = called.right.body as Body
    if (called.right.status < 300) return E.right(body)
    return E.left(
      `The service answers ${called.right.status}: ${String(body['error'] ?? body['message'] ?? body['errors'])}.`,
    )
  } catch (error) {
    return E.left(`${reasonOf(error)}.`)
  }
}

const write = (line: unknown): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
