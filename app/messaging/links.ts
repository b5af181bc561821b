import { isbot } from 'isbot'
import { openingIdOf } from '../../domain/derived-id.js'
import { engagement } from '../../domain/engagement.js'
import type { Clock, EventStore, Logger, MonotonicClock } from '../../domain/ports.js'
import { E, flow, TE, type Either } from '../../domain/prelude.js'
import { linkFromPath, linkTarget } from '../../domain/tracked-link.js'
import type { Queries } from '../../projections/queries.js'
import { messages, type MessageDocument } from '../../projections/read-models/messages.js'
import { haveCaughtUp, type ReadModelFollower } from '../commands/caught-up-read-models.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { Request, Surface } from '../http/endpoint.js'
import { nothingAtPath, type Problem } from '../http/problem.js'
import { bind, bindOr } from '../http/steps.js'

type LinkPorts = {
  readonly store: Pick<EventStore, 'head'>
  readonly queries: Queries
  /** Maintains the read model that knows the links. */
  readonly readModelFollower: ReadModelFollower
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  readonly clientCommands: ClientCommands
  readonly clock: Clock
  readonly logger: Logger
}

/** A tracked link of a message: its URL as the playbook has it, and where it leads to. */
type Link = {
  readonly document: MessageDocument
  readonly index: number
  readonly url: string
  readonly target: string
}

/** The short links of messages: each opening is sent on, and the first one by a person fires `link_clicked`. */
export const linksSurface = (ports: LinkPorts): Surface<undefined> => ({
  name: 'links',
  prefix: '/l',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: TE.map(() => undefined),
  endpoints: [
    {
      method: 'GET',
      path: '/:link',
      handle: flow(
        bindOr('link', ({ request }) => linkAt(ports, request.params['link'] ?? ''), nothingAtPath),
        bind('recorded', ({ request, link }) => TE.fromTask(() => recordOpening(ports, request, link))),
        TE.map(({ link: { target } }) => ({ status: 302, body: '', headers: { ...headers, location: target } })),
      ),
    },
  ],
})

/** Every opening comes here, and where it leads to learns nothing of the message. */
const headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' }

/** In milliseconds: after that nobody can tell yet whether there is such a link. */
const longestWait = 3_000

/** A message may be opened sooner than the read model shows it. */
const linkAt = async (ports: LinkPorts, path: string): Promise<Either<Problem, Link | undefined>> => {
  const named = linkFromPath(path)
  if (named === undefined) return E.right(undefined)
  const found = await linkShown(ports, named)
  if (E.isLeft(found) || found.right !== undefined) return found
  const head = await ports.store.head()
  if (E.isLeft(head)) return head
  return (await haveCaughtUp(ports.monotonic, [ports.readModelFollower], head.right, longestWait))
    ? linkShown(ports, named)
    : E.left({ kind: 'unavailable', reason: 'the newest messages are not shown yet' })
}

const linkShown = async (
  { queries }: LinkPorts,
  named: { readonly code: string; readonly index: number },
): Promise<Either<Problem, Link | undefined>> => {
  const found = await queries.page(messages, { index: 'link', equals: [named.code], limit: 1 })
  if (E.isLeft(found)) return found
  const document = found.right[0]?.document
  const url = document?.link_urls?.[named.index]
  const target = linkTarget(url ?? '')
  if (document === undefined || url === undefined || target === undefined) return E.right(undefined)
  return E.right({ document, index: named.index, url, target })
}

/** Messengers and scanners look at a link before a person does, and browsers where a person may go next. */
const isPerson = ({ method, header }: Request): boolean => {
  const agent = header('user-agent')
  const purpose = `${header('sec-purpose') ?? ''} ${header('purpose') ?? ''} ${header('x-purpose') ?? ''}`
  return method === 'GET' && agent !== undefined && !isbot(agent) && !/prefetch|prerender|preview/i.test(purpose)
}

/** A person is sent on, whether or not it can be recorded: another opening is a new chance. */
const recordOpening = async (
  { clientCommands, clock, logger }: LinkPorts,
  request: Request,
  { document: { id, engagement_id }, index, url }: Link,
): Promise<void> => {
  if (!isPerson(request)) return
  const command = { type: 'OpenLink', reportId: openingIdOf(id, index), url, at: clock.now() } as const
  const done = await clientCommands.execute(engagement, engagement_id, command, 'contact')
  if (E.isLeft(done)) logger.warn({ message: id, kind: done.left.kind }, 'the opening of a link was not recorded')
}
