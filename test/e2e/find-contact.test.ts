import test from 'ava'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { lead, newPhone, spellings } from '../kit/service/leads.js'
import { having } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'

const site = serviceForFile()

test('a contact is found with all its fields (contract 2.1 and 4.1)', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const before = new Date().toISOString()
  const { lead_id, contact_id } = await account.submitted({ phone, favourite_color: 'green' })
  const answer = await account.find(phone)
  t.is(answer.status, 200)
  t.deepEqual(Object.keys(answer.body), ['contact'])
  const contact = having(answer, 'contact')
  t.deepEqual(contact, {
    id: contact_id,
    first_name: 'Ada',
    last_name: 'Example',
    email: 'ada@example.com',
    phone,
    opted_out: false,
    created_at: contact.created_at,
    additional_info: {
      date_of_birth: '1985-12-10',
      gender: 'Female',
      marital_status: 'Single',
      current_residence_address: '1 Main Street',
      current_residence_city: 'San Francisco',
      current_residence_state: 'CA',
      current_residence_zip: '94105',
      current_insurance_carrier: 'Example Mutual',
      current_insurance_coverage: 'Liability Only',
      credit_rating: 'Good',
      favourite_color: 'green',
    },
    referral: { marketing_source_id: account.sourceId, marketing_source_title: 'Search ads', lead_id },
  })
  t.regex(contact.id, /^nct_/)
  t.regex(contact.created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  t.true(contact.created_at >= before && contact.created_at <= new Date().toISOString())
})

test('any common US format of the number finds the same contact (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const { contact_id } = await account.submitted({ phone })
  for (const spelling of [...spellings(phone), `${phone.slice(0, 2)} ${phone.slice(2)}`, `tel:${phone}`]) {
    t.is(having(await account.find(spelling), 'contact').id, contact_id, spelling)
  }
})

test('a bare plus reads as a space and the number is found all the same (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  for (const phone of [newPhone(), '+442079460958', '+525512345678', '+61291234567']) {
    const { contact_id } = await account.submitted({ phone })
    t.is(having(await account.rest(`/contacts/find?phone=${phone}`), 'contact').id, contact_id, phone)
  }
  const british = having(await account.rest('/contacts/find?phone=+44-20-7946-0958'), 'contact')
  t.is(british.phone, '+442079460958')
  const notPlus = await account.rest('/contacts/find?phone=442079460958')
  t.is(notPlus.status, 400)
})

test('ten digits behind a blank, or behind a bare plus, are a US number (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted({ phone: '+14722123456' })
  for (const text of ['%204722123456', '+4722123456', '%20(472)%20212-3456']) {
    t.is(having(await account.rest(`/contacts/find?phone=${text}`), 'contact').id, contact_id, text)
  }
})

test('a number without a contact is 404 with an errors list (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  const answer = await account.find(newPhone())
  t.is(answer.status, 404)
  t.deepEqual(answer.body, { errors: ['contact not found'] })
})

test('a phone that is missing, empty, blank or no number is 400 and named (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  const digits = '1'.repeat(1_000)
  for (const query of [
    '',
    '?phone',
    '?phone=',
    '?phone=%20%20',
    '?phone=abc',
    '?phone=12',
    `?phone=${digits}`,
    '?Phone=1',
  ]) {
    const answer = await account.rest(`/contacts/find${query}`)
    t.is(answer.status, 400, query)
    t.is(answer.body.errors?.length, 1, query)
    t.regex(answer.body.errors?.[0] ?? '', /^phone /, query)
  }
})

test('a number whose country stands apart is 400 whenever it is sent, and named (contract 4.1 and 4.6)', async (t) => {
  const account = await openAccount(site)
  await account.submitted({ phone: '+14155550123' })
  for (const context of ['+1', 'example.com']) {
    const phone = `tel:415-555-0123;phone-context=${context}`
    const answers = [await account.find(phone), await account.find(phone), await account.submit(lead({ phone }))]
    for (const { status, body } of answers) {
      t.is(status, 400)
      t.deepEqual(body.errors, ['phone must be a phone number'])
    }
  }
})

test('a phone that is given twice must be given once, whichever one is meant (contract 4.1)', async (t) => {
  const account = await openAccount(site)
  const { status, body } = await account.rest('/contacts/find?phone=4155550123&phone=4155550123')
  t.is(status, 400)
  t.deepEqual(body.errors, ['phone must be given once'])
})

test('one number in two accounts is two contacts: neither account finds the other (contract 1 and 2.1)', async (t) => {
  const [one, other, third] = await Promise.all([openAccount(site), openAccount(site), openAccount(site)])
  const phone = newPhone()
  const mine = await one.submitted({ phone, first_name: 'Grace' })
  const theirs = await other.submitted({ phone, first_name: 'Alan' })
  t.not(mine.contact_id, theirs.contact_id)
  t.like(having(await one.find(phone), 'contact'), { id: mine.contact_id, first_name: 'Grace' })
  t.like(having(await other.find(phone), 'contact'), { id: theirs.contact_id, first_name: 'Alan' })
  t.is((await third.find(phone)).status, 404)
})

test('a 404 is not remembered: the next lead of the number is found', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  t.is((await account.find(phone)).status, 404)
  const { contact_id } = await account.submitted({ phone })
  t.is(having(await account.find(phone), 'contact').id, contact_id)
})
