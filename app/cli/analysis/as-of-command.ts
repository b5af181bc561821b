import { Argument, Command, InvalidArgumentError } from 'commander'
import { E, type Either } from '../../../domain/prelude.js'
import type { LogReader } from '../../../domain/ports.js'
import { askable, asOf, difference, isAskable, type Moment } from '../../analysis/as-of.js'
import type { Config } from '../../composition/config.js'
import { momentIn } from '../arguments.js'
import { run, toldReason } from '../run.js'

type Options = { readonly personal: boolean }

const idIn = (text: string): string => {
  if (!isAskable(text)) throw new InvalidArgumentError(`It must be the id of ${askable}.`)
  return text
}

const id = new Argument('<id>', `of ${askable}`).argParser(idIn)
const moment = (name: string): Argument =>
  new Argument(`<${name}>`, 'a time in ISO 8601, or a position in the log').argParser(momentIn)

export const asOfCommand = new Command('as-of')
  .description('show what something was at a moment, and the events since, as JSON')
  .addArgument(id)
  .addArgument(moment('time'))
  .option('--personal', 'with personal values', false)
  .addHelpText('after', '\nExample:\n  $ npx leadloop as-of nct_… 2026-01-31T23:59:59Z | jq .state')
  .action((of: string, at: Moment, { personal }: Options) =>
    run(
      'tell',
      printing((log) => asOf(log, of, at, { isPersonalShown: personal })),
    ),
  )

export const diffCommand = new Command('diff')
  .description('show how something changed from one moment to another, as JSON')
  .addArgument(id)
  .addArgument(moment('from'))
  .addArgument(moment('to'))
  .option('--personal', 'with personal values', false)
  .addHelpText('after', '\nExample:\n  $ npx leadloop diff whk_… 2026-01-01 2026-02-01 | jq .changed')
  .action((of: string, from: Moment, to: Moment, { personal }: Options) =>
    run(
      'tell',
      printing((log) => difference(log, of, [from, to], { isPersonalShown: personal })),
    ),
  )

const printing =
  (ask: (log: LogReader) => Promise<unknown>) =>
  async (config: Config): Promise<Either<string, undefined>> => {
    const { openLog } = await import('./log.js')
    const opened = await openLog(config)
    if (E.isLeft(opened)) return opened
    try {
      process.stdout.write(`${JSON.stringify(await ask(opened.right.log), undefined, 2)}\n`)
      return E.right(undefined)
    } catch (error) {
      return E.left(`${toldReason(error)}.`)
    } finally {
      await opened.right.close()
    }
  }
