import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseFile } from '../../../adapters/sqlite/database.js'
import { E, type Either } from '../../../domain/prelude.js'
import { compose } from '../../composition/compose.js'
import { configFrom } from '../../composition/config.js'
import { receiver } from './receiver.js'
import { story } from './story.js'
import { storyteller, Surprise } from './storyteller.js'

const isTerminal = process.stdout.isTTY
const teller = storyteller({
  write: (text) => process.stdout.write(text),
  hasColours: isTerminal && (process.env['NO_COLOR'] ?? '') === '',
  isTerminal,
})

/** Starts the service in `folder`, tells the story and stops the service; nothing of it stays. */
const show = async (folder: string): Promise<void> => {
  const settings = { DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent', ALLOW_PRIVATE_WEBHOOKS: 'true' }
  const config = configFrom(settings)
  if (E.isLeft(config)) throw new Surprise(config.left.join(' '))
  const service = await compose(config.right)
  if (E.isLeft(service)) throw new Surprise(service.left)
  const customer = await receiver()
  const { address: site, newOperatorKey: operatorKey = '', stop } = service.right
  teller.say(
    `A lead goes once round the loop. The service listens at ${site}, the customer's receiver at ${customer.url}.`,
  )
  teller.say('Every request and answer is real; ids and keys are shown shortened.')
  try {
    await story(teller, { site, operatorKey, customer, file: databaseFile(folder) })
  } finally {
    await stop()
    customer.close()
  }
}

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'leadloop-demo-'))
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Left: why it stopped. */
export const demo = async (): Promise<Either<string, undefined>> => {
  process.once('SIGINT', () => process.exit(130))
  try {
    await show(temporaryFolder())
    teller.say('')
    teller.say('That was the loop, and nothing of it stays. `npm start` begins one of your own; the README says how.')
    return E.right(undefined)
  } catch (error) {
    return E.left(error instanceof Error ? error.message : String(error))
  }
}
