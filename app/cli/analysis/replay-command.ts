import { Command, InvalidArgumentError, Option } from 'commander'
import { Text } from '../../../domain/codec.js'
import { categories, eventTypes } from '../../../domain/events.js'
import { beginning } from '../../../domain/event.js'
import { AccountId, ContactId, SourceId } from '../../../domain/ids.js'
import { replayRequestOf, type ReplayParameters } from '../../analysis/replay-request.js'
import { idIn, positionIn, refuseEmptyRange, timeIn } from '../arguments.js'
import { run } from '../run.js'
import { replayFormats, type ReplayFormat } from './replay-output.js'

type ReplayOptions = ReplayParameters & { readonly format: ReplayFormat; readonly out?: string }

/** The list of all of them would fill the help. */
const eventTypeIn = (text: string, before: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  if (!eventTypes.some((type) => type === text)) {
    throw new InvalidArgumentError('It must be an event type of the table in domain/README.md.')
  }
  return [...before, text]
}

export const replayCommand = new Command('replay')
  .description('write the events of the log in their order, beside a service that runs or does not')
  .addOption(
    new Option('--after <position>', 'begin after this position').argParser(positionIn).default(beginning, '0'),
  )
  .option('--from <time>', 'what was recorded at or after this time', timeIn)
  .option('--to <time>', 'what was recorded before this time', timeIn)
  .addOption(new Option('--category <category...>', 'only streams of these').choices(categories))
  .addOption(new Option('--type <type...>', 'only events of these types').argParser(eventTypeIn))
  .option('--account <id>', 'only what concerns this account', idIn(AccountId))
  .option('--source <id>', 'only what concerns this marketing source', idIn(SourceId))
  .option('--contact <id>', 'only what concerns this contact', idIn(ContactId))
  .option('--correlation <id>', 'only what one request brought about', idIn(Text))
  .addOption(new Option('--format <format>', 'how they are written').choices(replayFormats).default('jsonl'))
  .option('--out <file>', 'into this file, else to standard output')
  .option('--follow', 'go on with what is recorded from now on', false)
  .option('--personal', 'with personal values', false)
  .addHelpText(
    'after',
    `
Examples:
  $ npx leadloop replay --category lead conversion_contact --from 2026-01-01 | jq .data
  $ npx leadloop replay --contact nct_… --format csv --out contact.csv
  $ npx leadloop replay --follow --type ConversionRecorded`,
  )
  .action(async (options: ReplayOptions, command: Command) => {
    refuseEmptyRange(options, command)
    const { format, out, follow } = options
    if (format === 'parquet' && (out === undefined || follow)) {
      command.error("error: Parquet needs --out, and can't follow")
    }
    await run('replay', async (config) => {
      const { replayTo } = await import('./replay.js')
      return replayTo(config, replayRequestOf(options), { format, file: out })
    })
  })
