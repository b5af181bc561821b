import { Command } from 'commander'
import { E } from '../../../domain/prelude.js'
import { areStoresShared } from '../../composition/config.js'
import { run } from '../run.js'

export const rebuildCommand = new Command('rebuild')
  .exitOverride()
  .description('build read models anew from the log, all or those that are named; a service that runs does it itself')
  .argument('[name...]', 'such as contacts')
  .addHelpText('after', '\nExample:\n  $ npx leadloop rebuild contacts deliveries')
  .action(async (names: ReadonlyArray<string>, _options: unknown, command: Command) => {
    const { readModels } = await import('../../../projections/read-models/registry.js')
    const known = readModels.map(({ name }) => name)
    const wrong = names.filter((name) => !known.includes(name))
    if (wrong.length > 0) {
      command.error(`error: There is no read model ${wrong.join(', ')}. There are ${known.join(', ')}.`)
    }
    await run('rebuild', async (config) => {
      const { runningService } = await import('../service/running-service.js')
      const service = await runningService(config)
      if (E.isLeft(service)) return service
      if (service.right !== undefined) {
        const { rebuildServed } = await import('./service-rebuild.js')
        const served = await rebuildServed(service.right, names)
        if (E.isRight(served)) return served
        // Of shared stores the leases tell whether another process maintains them.
        if (!(served.left.isElsewhere && areStoresShared(config))) return E.left(served.left.sentence)
      }
      const { rebuildReadModels } = await import('./rebuild.js')
      return rebuildReadModels(config, names)
    })
  })
