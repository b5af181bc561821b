import { Command, InvalidArgumentError, Option } from 'commander'
import type { Instant } from '../../../domain/instant.js'
import { tableNames, type TableName } from '../../analysis/tables/tidy-tables.js'
import { timeIn } from '../arguments.js'
import { run } from '../run.js'
import { exportFormats, type ExportFormat } from './export-request.js'

type ExportOptions = {
  readonly out: string
  readonly format: ExportFormat
  readonly tables: ReadonlyArray<TableName>
  readonly asOf?: Instant
  readonly personal: boolean
  readonly continue: boolean
}

/** In the order of the dictionary, each once. */
const tablesIn = (text: string): ReadonlyArray<TableName> => {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !tableNames.some((table) => table === name))
  if (unknown !== undefined) throw new InvalidArgumentError(`They must be among ${tableNames.join(', ')}.`)
  return tableNames.filter((table) => names.includes(table))
}

export const exportCommand = new Command('export')
  .description('write tidy tables of leads, conversions and the rest, beside a service that runs or does not')
  .requiredOption('--out <folder>', 'into this folder')
  .addOption(
    new Option('--format <format>', 'a file for each table, or one for all').choices(exportFormats).default('csv'),
  )
  .addOption(
    new Option('--tables <names>', 'only these, with commas between them')
      .argParser(tablesIn)
      .default(tableNames, 'all'),
  )
  .option('--as-of <time>', 'what was recorded up to and at this time', timeIn)
  .option('--personal', 'with personal values', false)
  .option('--continue', 'go on where the last export into this folder ended', false)
  .addHelpText(
    'after',
    `
Examples:
  $ npx leadloop export --out tables
  $ npx leadloop export --out tables --format duckdb --continue
  $ npx leadloop export --out january --format parquet --tables leads,conversions --as-of 2026-02-01`,
  )
  .action(({ out, format, tables, asOf, personal, continue: isContinued }: ExportOptions) =>
    run('export', async (config) => {
      const { exportTo } = await import('./export.js')
      return exportTo(config, { folder: out, format, tables, asOf, isPersonalShown: personal, isContinued })
    }),
  )
