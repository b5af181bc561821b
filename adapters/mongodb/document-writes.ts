import type { Db } from 'mongodb'
import { beginning, type Position } from '../../domain/event.js'
import type { MonotonicClock } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { misplacedIn, type Collection, type Documents, type Stored } from '../../projections/ports.js'
import { isOf, storedIn } from './document-reads.js'
import { attemptOn } from './client/attempt.js'
import { OperationFailed } from './failure.js'
import type { GenerationLocator } from './generations/locator.js'
import type { Place } from './generations/registry.js'
import { encodeChange, type DocumentRecord } from './records/document-record.js'
import type { Server } from './servers/server.js'
import { batchesAt } from './writing/batches.js'
import { advanceCheckpoint, beginCheckpoint, checkpointOf, positionOfCheckpoint } from './writing/checkpoints.js'
import { confirmationOn } from './writing/confirmation.js'
import type { Starts } from './writing/starts.js'

type Ports = {
  readonly locator: GenerationLocator
  readonly starts: Starts
  readonly server: () => Promise<Server>
  readonly monotonic: Pick<MonotonicClock, 'now'>
}

/**
 * Writes without a transaction: each document is guarded by its own position, and the checkpoint follows the documents.
 * What is written again after a crash between the two changes nothing. A batch is one command to read its documents,
 * however many, one to write them, and one for the checkpoint, which tells too whether the generation was replaced:
 * what was folded by then is of no generation that anybody reads. While a generation is built a fourth asks the
 * registry for that.
 */
export const documentWrites = (
  db: Db,
  { locator, starts, server, monotonic }: Ports,
): Pick<Documents, 'getToFold' | 'apply' | 'confirmedCheckpoint'> => {
  const attempt = attemptOn(db)
  const confirmation = confirmationOn(db)
  const inBatches = batchesAt(monotonic)
  return {
    getToFold: (collection, keys) =>
      attempt(async () => {
        const wanted = [...new Set(keys)]
        if (wanted.length === 0) return new Map<string, Stored>()
        const place = await starts.atOrNow(collection)
        const { getToFold } = await server()
        const found = await getToFold(db.collection<DocumentRecord>(place.stored), wanted)
        return storedIn(found.filter(isOf(place)), wanted, collection)
      }),

    apply: async (collection, changes, checkpoint) => {
      let written: string | undefined
      const applied = await attempt(async (givenUp) => {
        const misplaced = misplacedIn(changes, checkpoint)
        if (misplaced !== undefined) throw new OperationFailed(misplaced)
        const place = await starts.atOrNow(collection)
        const records = db.collection<DocumentRecord>(place.stored)
        const changed = changes.map((change) => encodeChange(change, place.serial, collection))
        const checkpointed = checkpointOf(collection, place)
        if (confirmation.isMissing(checkpointed)) {
          await confirmation.obtain(checkpointed)
          throw new OperationFailed({ kind: 'unavailable', reason: `${collection.name} must be read again` })
        }
        written = checkpointed
        const { write } = await server()
        await inBatches(changed, (batch) => write(records, batch), givenUp)
        await advance(collection, place, checkpoint, { db, locator })
      })
      if (E.isLeft(applied) && written !== undefined) confirmation.miss(written)
      return applied
    },

    confirmedCheckpoint: (collection) =>
      attempt(() =>
        locator.read<Position>(
          collection,
          beginning,
          async (place) => {
            const _id = checkpointOf(collection, place)
            // A process that begins can't know what became of the last writes of the one before.
            const isFirst = starts.at(collection)?.serial !== place.serial
            if (isFirst || confirmation.isMissing(_id)) await confirmation.obtain(_id)
            starts.begin(collection, place)
            return (await positionOfCheckpoint(db, _id)) ?? beginning
          },
          (position) => position !== beginning,
        ),
      ),
  }
}

type AdvancePorts = Pick<Ports, 'locator'> & { readonly db: Db }

/**
 * The checkpoint of a generation that was replaced is gone. What took its place may reflect less of the log: the caller
 * must start again from its checkpoint.
 */
const advance = async (
  collection: Collection,
  place: Place,
  position: Position,
  { db, locator }: AdvancePorts,
): Promise<void> => {
  const checkpoint = checkpointOf(collection, place)
  const orReplaced = async (): Promise<void> => {
    if ((await locator.locate(collection))?.serial !== place.serial)
      throw new OperationFailed({ kind: 'unavailable', reason: `${collection.name} was replaced` })
  }
  // A promoted build keeps its checkpoint, and not its name: what was written before the promotion goes with it, and
  // what is written later under the former name is read by nobody.
  if (collection.generation === 'next') await orReplaced()
  if (await advanceCheckpoint(db, checkpoint, position)) {
    locator.confirm(collection, place)
    return
  }
  await orReplaced()
  await beginCheckpoint(db, checkpoint)
  await advanceCheckpoint(db, checkpoint, position)
}
