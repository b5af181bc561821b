import type { Revision } from '../../domain/event.js'
import { categories } from '../../domain/events.js'
import { largestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { beginning } from '../../domain/event.js'
import type { AppendAll, StreamAppend } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { rightOf } from '../kit/right-of.js'
import { behaviourOf } from './behaviour.js'
import {
  append,
  disabled,
  enabled,
  eventsUntil,
  freshStream,
  historyOf,
  newEvent,
  recorded,
  type Events,
  type OpenStore,
} from './event-store-fixtures.js'

type OpenLog = OpenStore & { readonly appendAll: AppendAll }

const one = (stream: string, expected: Revision, events: Events): StreamAppend => ({ stream, expected, events })

/** What every `AppendAll` does (domain/ports.ts). */
export const appendAllContract = (name: string, open: () => Promise<OpenLog>): void => {
  const behaviour = behaviourOf(name, open)

  behaviour(
    'appends to several streams stand in the log in their order, and are given as they stand there',
    async (t, { store, appendAll, reopen }) => {
      const [first, second] = [freshStream('account'), freshStream('webhook')]
      await append(store, second, 'no-stream', [enabled()])
      const appended = rightOf(
        await appendAll([
          one(first, 'no-stream', [enabled(), disabled()]),
          one(second, 0, [disabled()]),
          one(first, 1, [enabled()]),
        ]),
      )
      t.deepEqual(
        appended.map(({ stream, revision, type }) => ({ stream, revision, type })),
        [
          { stream: first, revision: 0, type: 'AccountEnabled' },
          { stream: first, revision: 1, type: 'AccountDisabled' },
          { stream: second, revision: 1, type: 'AccountDisabled' },
          { stream: first, revision: 2, type: 'AccountEnabled' },
        ],
      )
      const stored = await historyOf(store, beginning, categories, [first, second])
      t.deepEqual(stored.slice(1), appended)
      t.deepEqual(await historyOf(await reopen(), beginning, categories, [first, second]), stored)
    },
  )

  behaviour(
    'where one stream is not where it is expected nothing is appended to any',
    async (t, { store, appendAll }) => {
      const [first, second] = [freshStream('account'), freshStream('account')]
      const [there] = await append(store, second, 'no-stream', [enabled()])
      const conflict = E.left({ kind: 'conflict' })
      t.deepEqual(
        await appendAll([one(first, 'no-stream', [enabled()]), one(second, 'no-stream', [disabled()])]),
        conflict,
      )
      t.deepEqual(
        await appendAll([one(first, 'no-stream', [enabled()]), one(first, 'no-stream', [disabled()])]),
        conflict,
      )
      t.deepEqual(await appendAll([one(first, 0, [enabled()])]), conflict)
      t.deepEqual(await historyOf(store, beginning, categories, [first, second]), [there])
    },
  )

  behaviour('the same events again are a conflict, and stand there once', async (t, { store, appendAll }) => {
    const appends = [one(freshStream('account'), 'no-stream', [enabled()])]
    const appended = rightOf(await appendAll(appends))
    t.deepEqual(await appendAll(appends), E.left({ kind: 'conflict' }))
    t.deepEqual(
      await historyOf(
        store,
        beginning,
        categories,
        appends.map(({ stream }) => stream),
      ),
      appended,
    )
  })

  behaviour('an append that is too large is refused with all others', async (t, { store, appendAll }) => {
    const [first, second] = [freshStream('account'), freshStream('engagement')]
    const large = newEvent(recorded({ text: 'x'.repeat(largestAppend) }))
    t.deepEqual(
      await appendAll([one(first, 'no-stream', [enabled()]), one(second, 'no-stream', [large])]),
      E.left(tooLargeAppend),
    )
    t.deepEqual(await historyOf(store, beginning, categories, [first, second]), [])
  })

  behaviour('a subscription that has caught up is given them in their order', async (t, { store, appendAll }) => {
    const [before, first, second] = [freshStream('account'), freshStream('account'), freshStream('webhook')]
    const [{ position } = { position: beginning }] = await append(store, before, 'no-stream', [enabled()])
    const given = eventsUntil(store, position, categories, ({ events }) =>
      events.some(({ stream }) => stream === second),
    )
    const appended = rightOf(
      await appendAll([one(first, 'no-stream', [enabled(), disabled()]), one(second, 'no-stream', [enabled()])]),
    )
    t.deepEqual(await given, appended)
  })
}
