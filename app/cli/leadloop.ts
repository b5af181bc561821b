#!/usr/bin/env -S node --max-semi-space-size=32
import { Command, CommanderError } from 'commander'
import { E } from '../../domain/prelude.js'
import { packageFile } from '../analysis/package-file.js'
import { asOfCommand, diffCommand } from './analysis/as-of-command.js'
import { exportCommand } from './analysis/export-command.js'
import { replayCommand } from './analysis/replay-command.js'
import { attributionCommand } from './attribution/attribution-command.js'
import { reportCommand } from './report/report-command.js'
import { run, toldReason } from './run.js'
import { eraseCommand } from './service/erase-command.js'
import { parkedCommand } from './service/parked-command.js'
import { rebuildCommand } from './rebuild/rebuild-command.js'

const { version } = JSON.parse(packageFile('package.json')) as { readonly version: string }

const program = new Command('leadloop')
  .version(version)
  .description('Lead follow-up. Every command takes the settings of the service (app/README.md).')
  .exitOverride()
  .showHelpAfterError('(--help shows what there is)')
  .addHelpText('afterAll', '\nExit status: 0 where it was done, 1 where it failed, 2 where it was used in a wrong way.')

program
  .command('start')
  .description('start the service, as `npm start` does')
  .addHelpText('after', '\nExample:\n  $ PORT=8080 DATA_DIR=data npx leadloop start')
  .action(async () => {
    const { start } = await import('./start.js')
    await start()
  })

program
  .command('demo')
  .description('walk a lead once round the loop, on a folder that is removed again')
  .option('--month', 'write a made-up month of traffic into an empty DATA_DIR instead', false)
  .addHelpText(
    'after',
    '\nExamples:\n  $ npx leadloop demo\n  $ DATA_DIR=month npx leadloop demo --month && DATA_DIR=month npx leadloop attribution',
  )
  .action(async ({ month }: { readonly month: boolean }) => {
    if (month) {
      await run('make a month', async (config) => {
        const { writeMonth } = await import('./demo/month.js')
        const written = await writeMonth(config)
        if (E.isLeft(written)) return written
        process.stderr.write(`A month with ${written.right} leads stands in ${config.dataDir}.\n`)
        return E.right(undefined)
      })
      return
    }
    const { demo } = await import('./demo/demo.js')
    const told = await demo()
    if (E.isLeft(told)) {
      process.stderr.write(`\nThe demo stopped: ${told.left}\n`)
      process.exitCode = 1
    }
  })

const reading = [replayCommand, exportCommand, attributionCommand, reportCommand, asOfCommand, diffCommand]
for (const command of [...reading, eraseCommand, parkedCommand, rebuildCommand]) {
  program.addCommand(command.copyInheritedSettings(program))
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output has had enough, such as `head`.
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`leadloop can't write to standard output. ${toldReason(error)}.\n`)
  process.exit(1)
})

// Nobody is left to be told, which changes nothing of what was to be done.
process.stderr.on('error', () => undefined)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // 0: help was asked for. Everything else is a wrong use.
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
