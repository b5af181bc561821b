import type { Activity } from '../../../domain/activity.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { AccountId, WebhookId } from '../../../domain/ids.js'
import type { EventStore, Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import { idIn, streamOf } from '../../../domain/stream-name.js'
import { webhook } from '../../../domain/webhook.js'
import { decodableHistory } from '../../parking/decodable-history.js'
import type { Documents, Stored } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { webhookList, type WebhookDocument } from '../../read-models/lists/webhook-list.js'

type Ports = {
  readonly store: Pick<EventStore, 'history' | 'read'>
  readonly documents: Pick<Documents, 'checkpoint' | 'all' | 'get'>
  readonly logger: Logger
}

const collection = collectionOf(webhookList)

/** Webhooks, found by their account. */
const webhooksByAccount = () => {
  const webhooks = new Map<WebhookId, WebhookDocument>()
  const ofAccount = new Map<AccountId, Set<WebhookId>>()

  const put = (id: WebhookId, document: WebhookDocument | undefined): void => {
    const account = (document ?? webhooks.get(id))?.account_id
    if (account === undefined) return
    const ids = ofAccount.get(account) ?? new Set()
    if (document === undefined) {
      webhooks.delete(id)
      ids.delete(id)
    } else {
      webhooks.set(id, document)
      ids.add(id)
    }
    if (ids.size === 0) ofAccount.delete(account)
    else ofAccount.set(account, ids)
  }

  const subscribed = (activity: Activity): ReadonlyArray<WebhookDocument> =>
    [...(ofAccount.get(activity.account_id) ?? [])]
      .map((id) => webhooks.get(id))
      .filter((one) => one !== undefined)
      .filter((one) => isSubscribed(one, activity))

  const get = (id: WebhookId): WebhookDocument | undefined => webhooks.get(id)

  const clear = (): void => {
    webhooks.clear()
    ofAccount.clear()
  }

  return { get, put, subscribed, clear }
}

/**
 * The webhooks as they were where the log was followed to. They begin with what the read model `webhook_list` shows and
 * are folded as it folds them: so no more of the log is read than lies between the two, however long it is.
 */
export const followedWebhooks = ({ store, documents, logger }: Ports) => {
  const { get, put, subscribed, clear } = webhooksByAccount()

  /** @throws what the fold of the event throws; its webhook then stays as it was before */
  const apply = (event: RecordedEvent): void => {
    const id = webhookOf(event)
    if (id !== undefined) put(id, webhookList.evolve(get(id), event))
  }

  /**
   * Where an event of a webhook was parked: folds the webhook anew, and touches no other one.
   * @throws what the fold throws, and StoreFailed; the webhook then stays as it was
   */
  const reread = async (event: RecordedEvent, upTo: Position): Promise<void> => {
    const id = webhookOf(event)
    if (id === undefined) return
    const { events } = orThrow(await store.read(event.stream))
    put(id, events.filter(({ position }) => position <= upTo).reduce(webhookList.evolve, undefined))
  }

  /** By webhook, what happened after a position, up to the end of the log. */
  const changedAfter = async (position: Position, signal: AbortSignal) => {
    const changed = new Map<WebhookId, Array<RecordedEvent>>()
    for await (const { events } of decodableHistory(store, position, ['webhook'], signal)) {
      for (const event of events) {
        const id = webhookOf(event)
        if (id === undefined) continue
        const changes = changed.get(id) ?? []
        changes.push(event)
        changed.set(id, changes)
      }
    }
    return changed
  }

  /**
   * The webhook as of `upTo`: what the read model shows may be older, and is folded further, or newer, and then its
   * stream is read.
   */
  const asOf = async (
    id: WebhookId,
    upTo: Position,
    stored: Stored | undefined,
    changes: ReadonlyArray<RecordedEvent>,
  ): Promise<WebhookDocument | undefined> => {
    // A collection holds what its own projection made.
    const shown = stored?.document as WebhookDocument | undefined
    const shownUpTo = stored?.position ?? beginning
    return shownUpTo <= upTo ? folded(shown, changes, shownUpTo, upTo) : fromStream(store, id, upTo, shown)
  }

  const load = async (upTo: Position, signal: AbortSignal): Promise<void> => {
    clear()
    if (upTo === beginning) return
    // The position is read first: a webhook that changes while all are read is then brought up to date by its later
    // events.
    const shownUpTo = orThrow(await documents.checkpoint(collection))
    const unreadable = new Set<WebhookId>()
    for await (const { key, document } of documents.all(collection)) {
      signal.throwIfAborted()
      if (document === undefined) unreadable.add(key as WebhookId)
      else put(key as WebhookId, document as WebhookDocument)
    }
    for (const id of unreadable) {
      logger.error({ webhook: id }, 'what is stored of a webhook cannot be read: it is taken from its stream')
      put(id, await fromStream(store, id, upTo, undefined))
    }
    const changed = await changedAfter(shownUpTo < upTo ? shownUpTo : upTo, signal)
    const readable = [...changed.keys()].filter((id) => !unreadable.has(id))
    const stored = orThrow(await documents.get(collection, readable))
    for (const id of readable) put(id, await asOf(id, upTo, stored.get(id), changed.get(id) ?? []))
  }

  return { apply, reread, subscribed, load }
}

/**
 * A webhook as of `upTo`. Where an event in its stream can't be decoded nobody can tell how it was then: it is
 * `otherwise`.
 */
const fromStream = async (
  { read }: Pick<EventStore, 'read'>,
  id: WebhookId,
  upTo: Position,
  otherwise: WebhookDocument | undefined,
): Promise<WebhookDocument | undefined> => {
  const found = await read(streamOf(webhook, id))
  if (E.isLeft(found) && found.left.kind === 'corrupt') return otherwise
  return folded(undefined, orThrow(found).events, beginning, upTo)
}

const webhookOf = ({ stream }: RecordedEvent): WebhookId | undefined => idIn(webhook, stream) as WebhookId | undefined

/** With the events after a position, up to another one. */
const folded = (
  document: WebhookDocument | undefined,
  events: ReadonlyArray<RecordedEvent>,
  after: Position,
  upTo: Position,
): WebhookDocument | undefined =>
  events.filter(({ position }) => position > after && position <= upTo).reduce(evolvedWherePossible, document)

/** Whoever follows the log parks what can't be folded, and goes on with the webhook as it was before. */
const evolvedWherePossible = (
  document: WebhookDocument | undefined,
  event: RecordedEvent,
): WebhookDocument | undefined => {
  try {
    return webhookList.evolve(document, event)
  } catch {
    return document
  }
}

/** Without any label a webhook is subscribed to all of them (contract 6.1). */
const isSubscribed = ({ events, playbook_id }: WebhookDocument, activity: Activity): boolean =>
  (events.length === 0 || events.includes(activity.label)) &&
  (playbook_id === null || playbook_id === activity.playbook_id)
