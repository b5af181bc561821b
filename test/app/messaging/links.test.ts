import test from 'ava'
import { linksSurface } from '../../../app/messaging/links.js'
import { beginning } from '../../../domain/event.js'
import { E, TE } from '../../../domain/prelude.js'
import { linkCodeFrom, linkUrl } from '../../../domain/tracked-link.js'
import type { Queries } from '../../../projections/queries.js'
import { engagementId, messageId } from '../../kit/domain/samples.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { turnTime } from '../../kit/time/turns.js'

const code = linkCodeFrom('0123456789ABCDEFGHJKMNPQRS')
const target = 'https://www.example.com/quote'

/** Opens a link of a message that the read model shows once it has caught up. */
const openBeforeShown = async () => {
  let isShown = false
  const document = { id: messageId(), engagement_id: engagementId(), link_urls: [target] }
  const { endpoints } = linksSurface({
    store: { head: () => Promise.resolve(E.right(beginning)) },
    queries: {
      page: () => Promise.resolve(E.right(isShown ? [{ key: messageId(), document }] : [])),
    } as unknown as Queries,
    readModelFollower: {
      caughtUpTo: () => {
        isShown = true
        return Promise.resolve()
      },
      position: () => Promise.resolve(beginning),
    },
    monotonic: turnTime,
    clientCommands: { execute: () => Promise.reject(new Error('no person opened it')) },
    clock: manualClock(),
    logger: recordingLogger(),
  })
  const request = {
    method: 'GET',
    params: { link: linkUrl('', code, 0).split('/').at(-1) ?? '' },
    query: () => undefined,
    queryNames: () => [],
    header: () => undefined,
    body: undefined,
  }
  return endpoints[0]?.handle(TE.right({ request, caller: undefined }))()
}

test('a link that is opened before its message is shown leads where it leads to', async (t) => {
  const answer = await openBeforeShown()
  t.like(answer, E.right({ status: 302, headers: { location: target } }))
})
