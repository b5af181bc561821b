import { openStores } from '../../../app/composition/stores.js'
import { E } from '../../../domain/prelude.js'
import { recordingLogger, type LogLine } from '../../kit/parts/recording-logger.js'

/** Where stores are to be. */
export type Where = Parameters<typeof openStores>[0]

/** What came of opening stores: the sentence of a refusal, and what was logged. */
export type Opening = { readonly refusal: string | undefined; readonly lines: ReadonlyArray<LogLine> }

/**
 * A process that opens the stores of its argument, one after the other, closes them, and says nothing but how that
 * went.
 */
const configs = JSON.parse(process.argv[2] ?? '[]') as ReadonlyArray<Where>
const openings: Array<Opening> = []
for (const config of configs) {
  const logger = recordingLogger()
  const opened = await openStores(config, { newId: () => 'member', logger })
  if (E.isRight(opened)) await opened.right.close()
  openings.push({ refusal: E.isLeft(opened) ? opened.left : undefined, lines: logger.lines })
}
process.stdout.write(JSON.stringify(openings))
