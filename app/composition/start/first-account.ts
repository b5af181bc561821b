import { aborted, neverAborted, withinLimit } from '../../../domain/abortable.js'
import { account } from '../../../domain/account.js'
import { contactIdOf } from '../../../domain/derived-id.js'
import { beginning, type Position } from '../../../domain/event.js'
import { categories } from '../../../domain/events.js'
import type { AccountId, ContactId, ConversionId, PlaybookId, SourceId } from '../../../domain/ids.js'
import { phoneFromText } from '../../../domain/phone.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { decodableHistory } from '../../../projections/parking/decodable-history.js'
import type { Documents } from '../../../projections/ports.js'
import { isEnding, longestTakeover, type Lease, type Membership } from '../../../projections/subscriptions/leases.js'
import { newApiKey } from '../../http/api-key.js'
import { loadState } from '../../commands/states/current-states.js'
import { openAccount } from '../../manage/accounts/account-opening.js'
import type { ManagePorts } from '../../manage/ports.js'
import { postUrl } from '../../manage/setup/marketing-sources.js'
import { createSource } from '../../manage/setup/source-creation.js'
import { logCollection } from './store-checks.js'

/** A made-up lead with every field of a standard qualification playbook (contract 4.6). */
export const exampleLead = {
  first_name: 'Ada',
  last_name: 'Example',
  email: 'ada@example.com',
  phone: '(415) 555-0123',
  date_of_birth: '1985-12-10',
  gender: 'Female',
  marital_status: 'Single',
  current_residence_address: '1 Main Street',
  current_residence_city: 'San Francisco',
  current_residence_state: 'CA',
  current_residence_zip: '94105',
  current_insurance_carrier: 'None',
  current_insurance_coverage: 'Liability Only',
  credit_rating: 'Good',
  tcpa_opt_in_token: 'consent-1',
  tcpa_opt_in_url: 'https://consent.example/1',
}

/** What a newcomer needs to walk the example lead through the loop. */
export type FirstAccount = {
  readonly postUrl: string
  readonly apiKey: string
  readonly soldId: ConversionId
  /** The contact that the example lead is going to be: account and number decide it. */
  readonly contactId: ContactId
  /** To be called once a person was shown all this: no later start shows a key again. */
  readonly shown: () => Promise<void>
}

type Ports = ManagePorts & {
  readonly documents: Documents
  readonly membership: Pick<Membership, 'share'>
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
}

/** One for each store. */
const firstAccountId: AccountId = `acc_${'0'.repeat(25)}F`

/** Who writes events while nobody uses the service. */
const actor = 'first-start'
const actorsAtFirst: ReadonlySet<string> = new Set([actor, 'reaction'])

const shownKey = 'first_account_shown'

const leaseName = 'first_account'

/**
 * An empty store begins with one account and one marketing source, so that the first lead can be posted at once. Where
 * nobody was shown the key of the account, since that start failed or was killed, and nobody has used the service
 * since, this one adds what lacks and gives another key. Of processes that begin together on one store each waits until
 * the one before it has shown the account, or is gone.
 */
export const openFirstAccount = async (ports: Ports, isLogEmpty: boolean): Promise<FirstAccount | undefined> => {
  if (!isLogEmpty && (await unshown(ports)) === undefined) return undefined
  const held = await leaseInTime(ports)
  if (held === undefined) return undefined
  const opened = (isLogEmpty ? await newAccount(ports) : undefined) ?? (await unshownAccount(ports))
  const account = opened === undefined || isEnding(held.lease) ? undefined : await completed(ports, opened)
  if (account === undefined || isEnding(held.lease)) {
    held.release()
    return undefined
  }
  const { position, ...told } = account
  const change = { key: shownKey, document: { shown: true }, position }
  const shown = async (): Promise<void> => {
    await ports.documents.apply(logCollection, [change], beginning)
    held.release()
  }
  return { ...told, shown }
}

type HeldLease = { readonly lease: Lease; readonly release: () => void }

/** Undefined where another process holds it for too long. */
const leaseInTime = ({ membership, monotonic }: Ports): Promise<HeldLease | undefined> => {
  const released = new AbortController()
  let isOver = false
  return withinLimit(
    monotonic,
    longestTakeover,
    (waiting) =>
      new Promise((resolve) => {
        const hold = async (lease: Lease): Promise<void> => {
          if (!waiting.aborted) {
            resolve({ lease, release: () => released.abort() })
            await aborted(AbortSignal.any([released.signal, lease.ending]))
          }
          isOver = true
        }
        membership.share('first account', () => (isOver ? [] : [leaseName]), hold)
      }),
  )
}

/** With its source, and the contact of the example lead. */
const completed = async (ports: Ports, { apiKey, playbookId, soldId, position, ...opened }: OpenedAccount) => {
  const sourceId = opened.sourceId ?? (await newSource(ports, playbookId))
  const contactId = await exampleContact(ports, firstAccountId)
  if (sourceId === undefined || contactId === undefined) return undefined
  return { postUrl: postUrl(ports.siteUrl(), firstAccountId, sourceId), apiKey, soldId, contactId, position }
}

type OpenedAccount = {
  readonly apiKey: string
  readonly playbookId: PlaybookId
  readonly soldId: ConversionId
  /** Where an earlier start created it. */
  readonly sourceId: SourceId | undefined
  readonly position: Position
}

/** Undefined where it could not be opened, or another process opened it first. */
const newAccount = async (ports: Ports): Promise<OpenedAccount | undefined> => {
  const opened = await openAccount(ports, firstAccountId, 'First account', actor)
  if (E.isLeft(opened)) return undefined
  const position = opened.right.events.at(-1)?.position
  return position === undefined ? undefined : { ...opened.right, sourceId: undefined, position }
}

/** With another key. Undefined where its key was shown, or the service was used without it. */
const unshownAccount = async (ports: Ports): Promise<OpenedAccount | undefined> => {
  const { clientCommands, ids } = ports
  const found = await unshown(ports)
  if (found === undefined) return undefined
  const { apiKeyId, apiKey, hash } = newApiKey(ids, firstAccountId)
  const command = { type: 'IssueApiKey', apiKeyId, secretHash: hash, limitPerMinute: null } as const
  const issued = await clientCommands.execute(account, firstAccountId, command, actor)
  return E.isLeft(issued) ? undefined : { ...found, apiKey }
}

/** What earlier starts left where nobody was shown the key, and nobody has used the service without it. */
const unshown = async ({ store, documents }: Ports): Promise<Omit<OpenedAccount, 'apiKey'> | undefined> => {
  const marked = await documents.get(logCollection, [shownKey])
  return E.isLeft(marked) || marked.right.has(shownKey) ? undefined : leftByStarts(store)
}

/**
 * Taken from the log, which is short, since the read models may not be there yet. Of a log that somebody uses it reads
 * the beginning. Where it can't be read now, a later start finds out.
 */
const leftByStarts = async (store: EventStore): Promise<Omit<OpenedAccount, 'apiKey'> | undefined> => {
  let opened: Omit<OpenedAccount, 'apiKey'> | undefined
  let sourceId: SourceId | undefined
  try {
    for await (const { events } of decodableHistory(store, beginning, categories, neverAborted))
      for (const event of events) {
        if (!actorsAtFirst.has(event.actor)) return undefined
        if (event.type === 'AccountOpened') {
          const { playbook_id: playbookId, sold_id: soldId } = event.data
          opened = { playbookId, soldId, sourceId: undefined, position: event.position }
        }
        if (event.type === 'MarketingSourceCreated') sourceId ??= event.data.source_id
      }
    return opened === undefined ? undefined : { ...opened, sourceId }
  } catch {
    return undefined
  }
}

const newSource = async (ports: Ports, playbookId: PlaybookId): Promise<SourceId | undefined> => {
  const what = { accountId: firstAccountId, title: 'First source', playbookId, originatorField: null }
  const created = await createSource(ports, what, actor)
  return E.isLeft(created) || created.right.state.kind !== 'created' ? undefined : created.right.state.sourceId
}

const exampleContact = async (
  { commandHandler, vault }: ManagePorts,
  id: AccountId,
): Promise<ContactId | undefined> => {
  const found = await loadState(commandHandler, account, id)
  if (E.isLeft(found) || found.right.kind !== 'open') return undefined
  const secret = vault.accountSecret(found.right.sealedSecret)
  const phone = phoneFromText(exampleLead.phone)
  return E.isLeft(secret) || phone === undefined ? undefined : contactIdOf(secret.right, phone)
}
