import { Command } from 'commander'
import { wallTime } from '../../../adapters/node/clock.js'
import { AccountId } from '../../../domain/ids.js'
import { instantOf, type Instant } from '../../../domain/instant.js'
import { idIn, refuseEmptyRange, timeIn } from '../arguments.js'
import { run } from '../run.js'

type ReportOptions = {
  readonly out: string
  readonly from?: Instant
  readonly to?: Instant
  readonly account?: AccountId
}

export const reportCommand = new Command('report')
  .description('draw leads, the funnel, revenue, cohorts, first contact and webhooks as one HTML file')
  .requiredOption('--out <file>', 'into this file')
  .option('--from <time>', 'leads, sales and deliveries at or after this time', timeIn)
  .option('--to <time>', 'leads, sales and deliveries before this time', timeIn)
  .option('--account <id>', 'only what concerns this account', idIn(AccountId))
  .addHelpText(
    'after',
    `
Examples:
  $ npx leadloop report --out report.html
  $ npx leadloop report --out january.html --from 2026-01-01 --to 2026-02-01 --account acc_…`,
  )
  .action(async ({ out, from, to, account }: ReportOptions, command: Command) => {
    const range = { ...(from && { from }), ...(to && { to }) }
    refuseEmptyRange(range, command)
    await run('report', async (config) => {
      const { reportTo } = await import('./report.js')
      return reportTo(config, out, { ...range, ...(account && { accountId: account }), madeAt: instantOf(wallTime()) })
    })
  })
