import { account } from '../../domain/account.js'
import { contactIdOf } from '../../domain/derived-id.js'
import type { AccountId, SourceId } from '../../domain/ids.js'
import type { LeadFacts } from '../../domain/lead.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { phoneFromText } from '../../domain/phone.js'
import { leadFields, phoneOf } from './leads.js'
import { orFail, type Tools } from './tools.js'

/** What the lead with a serial number stores that is submitted to this source, its follow-up aside. */
export const leadFactsFor = async (
  { commandHandler, vault, ids }: Tools,
  accountId: AccountId,
  sourceId: SourceId,
): Promise<(serial: number) => LeadFacts> => {
  const { state: owner } = orFail(await commandHandler.load(account, accountId))
  const { state: source } = orFail(await commandHandler.load(marketingSource, sourceId))
  if (owner.kind !== 'open' || source.kind !== 'created') throw new Error('the account or its source was not created')
  const secret = orFail(vault.accountSecret(owner.sealedSecret))

  return (serial) => {
    const phone = phoneFromText(phoneOf(serial))
    if (phone === undefined) throw new Error('the phone number of a seeded lead can not be read')
    const {
      first_name,
      last_name,
      email,
      phone: _phone,
      tcpa_opt_in_token,
      tcpa_opt_in_url,
      ...rest
    } = leadFields(serial)
    return {
      lead_id: `led_${ids.ulid()}`,
      account_id: accountId,
      source_id: sourceId,
      source_title: source.title,
      playbook_id: source.playbookId,
      contact_id: contactIdOf(secret, phone),
      engagement_id: `neg_${ids.ulid()}`,
      details: { first_name, last_name, email, phone, additional_info: rest },
      consent: { tcpa_opt_in_token, tcpa_opt_in_url },
      originators: [],
    }
  }
}
