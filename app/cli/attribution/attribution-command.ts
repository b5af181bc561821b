import { Command, InvalidArgumentError, Option } from 'commander'
import { ConversionLabel } from '../../../domain/conversion.js'
import { AccountId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { attributionFormats, type AttributionFormat } from '../../analysis/attribution/attribution-output.js'
import {
  attributionGroupings,
  attributionModels,
  type AttributionRequest,
} from '../../analysis/attribution/attribution-query.js'
import { idIn, refuseEmptyRange, timeIn } from '../arguments.js'
import { run } from '../run.js'

type AttributionOptions = Pick<AttributionRequest, 'model' | 'halfLife' | 'window' | 'by' | 'from' | 'to'> & {
  readonly label?: ReadonlyArray<string>
  readonly account?: string
  readonly costs?: string
  readonly asOf?: Instant
  readonly format: AttributionFormat
  readonly explain: boolean
}

const daysIn = (text: string): number => {
  const days = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : 0
  if (days === 0) throw new InvalidArgumentError('It must be a number of days above 0 and below 100000.')
  return days
}

const labelsIn = (text: string): ReadonlyArray<string> => {
  const labels = text.split(',').map((label) => label.trim())
  if (labels.every(ConversionLabel.is)) return labels
  const known = Object.keys(ConversionLabel.keys).join(', ')
  throw new InvalidArgumentError(`It must be one of ${known}, or several with commas between them.`)
}

export const attributionCommand = new Command('attribution')
  .description('which sources sell: conversions, revenue, cost and rates, as of any moment')
  .addOption(new Option('--model <model>', 'who gets the credit').choices(attributionModels).default('last-touch'))
  .addOption(new Option('--half-life <days>', 'of time decay').argParser(daysIn).default(7))
  .addOption(
    new Option('--window <days>', 'how long before a conversion a lead still counts').argParser(daysIn).default(90),
  )
  .addOption(new Option('--by <grouping>', 'what a row stands for').choices(attributionGroupings).default('source'))
  .option('--label <labels>', 'only conversions with one of these labels', labelsIn)
  .option('--account <id>', 'only what concerns this account', idIn(AccountId))
  .option('--from <time>', 'conversions, and leads that are counted, at or after this time', timeIn)
  .option('--to <time>', 'conversions, and leads that are counted, before this time', timeIn)
  .option('--costs <file>', 'CSV with source_id,from,to,cost_per_lead in cents')
  .option('--as-of <time>', 'of what was recorded up to this time', timeIn)
  .addOption(new Option('--format <format>', 'how it is written').choices(attributionFormats).default('table'))
  .option('--explain', 'print the SQL instead, to be run over an export', false)
  .addHelpText(
    'after',
    `
Examples:
  $ npx leadloop attribution --label sold --model position-based
  $ npx leadloop attribution --by week --from 2026-01-01 --format csv
  $ npx leadloop attribution --explain | duckdb leadloop.duckdb`,
  )
  .action(async (options: AttributionOptions, command: Command) => {
    refuseEmptyRange(options, command)
    await run('compute the attribution', async (config) => {
      const { attribute } = await import('./attribution.js')
      const { costs, asOf, format, explain } = options
      return attribute(config, { request: requestOf(options), costsFile: costs, asOf, format, isExplained: explain })
    })
  })

const requestOf = ({
  model,
  halfLife,
  window,
  by,
  label,
  account,
  from,
  to,
}: AttributionOptions): AttributionRequest => ({
  model,
  halfLife,
  window,
  by,
  ...(label && { labels: label }),
  ...(account && { accountId: account }),
  ...(from && { from }),
  ...(to && { to }),
})
