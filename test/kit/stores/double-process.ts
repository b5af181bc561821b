import { fileURLToPath } from 'node:url'
import { launch, type Launched } from '../parts/program.js'

const program = fileURLToPath(new URL('../../eventstoredb-double/main.js', import.meta.url))

/** A double of EventStoreDB that runs in a process of its own until it gets a signal. */
export const startDoubleProcess = async (): Promise<Launched & { readonly url: string }> => {
  const launched = launch(process.execPath, [program], process.env)
  const url = await launched.said(/^(esdb:.+)\n/m)
  if (url === undefined) throw new Error(`the double did not start: ${launched.stderr()}`)
  return { ...launched, url }
}
