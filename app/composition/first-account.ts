import { account } from '../../domain/account.js'
import { contactIdOf } from '../../domain/derived-id.js'
import type { AccountId, ContactId, ConversionId } from '../../domain/ids.js'
import { phoneFromText } from '../../domain/phone.js'
import { E } from '../../domain/prelude.js'
import { loadState } from '../commands/states/current-states.js'
import { openAccount } from '../manage/accounts/account-opening.js'
import type { ManagePorts } from '../manage/ports.js'
import { postUrl } from '../manage/setup/marketing-sources.js'
import { createSource } from '../manage/setup/source-creation.js'

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
}

/** One for each store, so that of processes that start together on an empty one, one opens it. */
const firstAccountId: AccountId = `acc_${'0'.repeat(25)}F`

/** An empty store begins with one account and one marketing source, so that the first lead can be posted at once. */
export const openFirstAccount = async (ports: ManagePorts): Promise<FirstAccount | undefined> => {
  const opened = await openAccount(ports, firstAccountId, 'First account', 'first-start')
  if (E.isLeft(opened) || opened.right.events.length === 0) return undefined
  const { accountId, apiKey, playbookId, soldId } = opened.right
  const what = { accountId, title: 'First source', playbookId, originatorField: null }
  const created = await createSource(ports, what, 'first-start')
  if (E.isLeft(created) || created.right.state.kind !== 'created') return undefined
  const { sourceId } = created.right.state
  const contactId = await exampleContact(ports, accountId)
  if (contactId === undefined) return undefined
  return { postUrl: postUrl(ports.siteUrl(), accountId, sourceId), apiKey, soldId, contactId }
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
