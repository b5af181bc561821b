import { neverAborted } from '../../domain/abortable.js'
import { account } from '../../domain/account.js'
import { streamOf } from '../../domain/decider.js'
import { contactIdOf } from '../../domain/derived-id.js'
import { beginning, type Position } from '../../domain/event.js'
import { categories } from '../../domain/events.js'
import type { AccountId, ContactId, ConversionId, PlaybookId, SourceId } from '../../domain/ids.js'
import { phoneFromText } from '../../domain/phone.js'
import type { EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { decodableHistory } from '../../projections/parking/decodable-history.js'
import type { Documents } from '../../projections/ports.js'
import { sourceList } from '../../projections/read-models/lists/source-list.js'
import { newApiKey } from '../http/api-key.js'
import { loadState } from '../commands/states/current-states.js'
import { openAccount } from '../manage/accounts/account-opening.js'
import type { ManagePorts } from '../manage/ports.js'
import { postUrl } from '../manage/setup/marketing-sources.js'
import { createSource } from '../manage/setup/source-creation.js'
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

type Ports = ManagePorts & { readonly documents: Documents }

/** One for each store, so that of processes that start together on an empty one, one opens it. */
const firstAccountId: AccountId = `acc_${'0'.repeat(25)}F`

/** Who writes events while nobody uses the service. */
const actor = 'first-start'
const actorsAtFirst: ReadonlySet<string> = new Set([actor, 'reaction'])

const shownKey = 'first_account_shown'

/**
 * An empty store begins with one account and one marketing source, so that the first lead can be posted at once. Where nobody was
 * shown the key of the account, since that start failed or was killed, and nobody has used the service since, this one adds what
 * lacks and gives another key.
 */
export const openFirstAccount = async (ports: Ports, isLogEmpty: boolean): Promise<FirstAccount | undefined> => {
  const opened = await (isLogEmpty ? newAccount(ports) : unshownAccount(ports))
  if (opened === undefined) return undefined
  const { apiKey, playbookId, soldId } = opened
  const sourceId = await firstSource(ports, playbookId)
  const contactId = await exampleContact(ports, firstAccountId)
  if (sourceId === undefined || contactId === undefined) return undefined
  const change = { key: shownKey, document: { shown: true }, position: opened.position }
  const shown = async (): Promise<void> => {
    await ports.documents.apply(logCollection, [change], beginning)
  }
  return { postUrl: postUrl(ports.siteUrl(), firstAccountId, sourceId), apiKey, soldId, contactId, shown }
}

type Opened = {
  readonly apiKey: string
  readonly playbookId: PlaybookId
  readonly soldId: ConversionId
  readonly position: Position
}

/** Undefined where it could not be opened, or another process opened it first. */
const newAccount = async (ports: Ports): Promise<Opened | undefined> => {
  const opened = await openAccount(ports, firstAccountId, 'First account', actor)
  if (E.isLeft(opened)) return undefined
  const position = opened.right.events.at(-1)?.position
  return position === undefined ? undefined : { ...opened.right, position }
}

/** With another key. Undefined where its key was shown, or the service was used without it. */
const unshownAccount = async (ports: Ports): Promise<Opened | undefined> => {
  const { store, documents, clientCommands, ids } = ports
  const marked = await documents.get(logCollection, [shownKey])
  if (E.isLeft(marked) || marked.right.has(shownKey) || !(await isUnused(store))) return undefined
  const read = await store.read(streamOf(account, firstAccountId))
  const [opening] = E.isLeft(read) ? [] : read.right.events
  if (opening?.type !== 'AccountOpened') return undefined
  const { apiKeyId, apiKey, hash } = newApiKey(ids, firstAccountId)
  const command = { type: 'IssueApiKey', apiKeyId, secretHash: hash, limitPerMinute: null } as const
  const issued = await clientCommands.execute(account, firstAccountId, command, actor)
  const { playbook_id: playbookId, sold_id: soldId } = opening.data
  return E.isLeft(issued) ? undefined : { apiKey, playbookId, soldId, position: opening.position }
}

/** Of a log that somebody uses it reads the beginning. Where it can't be read now, a later start finds out. */
const isUnused = async (store: EventStore): Promise<boolean> => {
  try {
    for await (const { events } of decodableHistory(store, beginning, categories, neverAborted))
      if (events.some((event) => !actorsAtFirst.has(event.actor))) return false
    return true
  } catch {
    return false
  }
}

/** The one that an earlier start created, or else a new one. */
const firstSource = async (ports: Ports, playbookId: PlaybookId): Promise<SourceId | undefined> => {
  const listed = await ports.queries.list(sourceList, 'by_account', [firstAccountId])
  if (E.isLeft(listed)) return undefined
  const [known] = listed.right
  if (known !== undefined) return known.id
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
