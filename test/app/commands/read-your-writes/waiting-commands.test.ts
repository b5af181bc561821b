import test from 'ava'
import { waitingCommands } from '../../../../app/commands/read-your-writes/waiting-commands.js'
import { neverAborted } from '../../../../domain/abortable.js'
import type { Position } from '../../../../domain/event.js'
import { readModels } from '../../../../projections/read-models/registry.js'
import { logOf } from '../../../kit/domain/log.js'
import { contactCreated, contactId, conversionDefined, conversionId } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { manualTime } from '../../../kit/time/manual-time.js'
import { isOver, nextTurn } from '../../../kit/time/turns.js'

const [ofOne, ofOther, ofConversion] = logOf(
  [`contact-${contactId(1)}`, contactCreated],
  [`contact-${contactId(2)}`, contactCreated],
  [`conversion-${conversionId()}`, conversionDefined],
).map((event) => [event])

/** The read models, of which that of conversions stands still. */
const open = () => {
  const asked: Array<readonly [name: string, position: Position]> = []
  const caughtUpTo = (name: string) => (position: Position) => {
    asked.push([name, position])
    return name === 'conversion_list' ? new Promise<void>(() => undefined) : nextTurn()
  }
  const { untilAnswerable } = waitingCommands({
    readModels: readModels.map((projection) => ({ projection, follower: { caughtUpTo: caughtUpTo(projection.name) } })),
    followed: () => Promise.resolve(),
    documents: memoryDocuments(documentState()),
    monotonic: manualTime().process(),
    stopping: neverAborted,
  })
  return { asked, untilAnswerable }
}

test('those who come in one turn and wait for the same read models wait together, for the last of them', async (t) => {
  const { asked, untilAnswerable } = open()
  await Promise.all([ofOther, ofOne].map((events = []) => untilAnswerable(events)))
  t.deepEqual(asked, [['contacts', 2n]])
})

test('those who come later wait for themselves', async (t) => {
  const { asked, untilAnswerable } = open()
  const first = untilAnswerable(ofOne ?? [])
  await nextTurn()
  await Promise.all([first, untilAnswerable(ofOther ?? [])])
  t.deepEqual(
    asked.map(([, position]) => position),
    [1n, 2n],
  )
})

test('a read model that stands still holds up nobody who has written nothing that it shows', async (t) => {
  const { untilAnswerable } = open()
  const defining = untilAnswerable(ofConversion ?? [])
  await untilAnswerable(ofOne ?? [])
  t.false(await isOver(defining))
})
