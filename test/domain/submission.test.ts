import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { contactIdOf, leadIdOf, type AccountSecret } from '../../domain/derived-id.js'
import { phoneFromText } from '../../domain/phone.js'
import { standardFields } from '../../domain/playbook-settings.js'
import { E } from '../../domain/prelude.js'
import { decodeSubmission, originatorsOf, leadFactsOf, type Submission } from '../../domain/submission.js'
import { holds } from '../kit/domain/property.js'
import { at, accountId, engagementId, leadId, playbookId, sourceId } from '../kit/domain/samples.js'

const valid: Readonly<Record<string, string>> = {
  first_name: 'Ada',
  last_name: 'Example',
  email: 'ada@example.com',
  phone: '(415) 555-0123',
  date_of_birth: '1990-02-28',
  gender: 'Female',
  marital_status: 'Single',
  current_residence_address: '1 Main St',
  current_residence_city: 'San Francisco',
  current_residence_state: 'CA',
  current_residence_zip: '94016',
  current_insurance_carrier: 'Example Mutual',
  current_insurance_coverage: 'Full Coverage',
  credit_rating: 'Good',
  tcpa_opt_in_token: 'consent-1',
  tcpa_opt_in_url: 'https://consent.example/1',
}

const required = [...standardFields, 'tcpa_opt_in_token', 'tcpa_opt_in_url']

/** In alphabetical order: theirs means nothing. */
const problemsOf = (body: unknown, asked: ReadonlyArray<string> = standardFields): ReadonlyArray<string> => {
  const decoded = decodeSubmission(asked, at(), body)
  return E.isLeft(decoded) ? decoded.left.toSorted() : []
}

const without = (...names: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(valid).filter(([name]) => !names.includes(name)))

test('a valid submission becomes details, consent and fields', (t) => {
  const body = { ...valid, first_name: ' Ada ', lead_id: ' crm-1 ', nothing: null, blank: ' ' }
  const { first_name: _first, last_name: _last, email: _email, phone: _phone, ...others } = valid
  const { tcpa_opt_in_token: _token, tcpa_opt_in_url: _url, ...additional } = others
  t.deepEqual(
    decodeSubmission(standardFields, at(), body),
    E.right({
      details: {
        first_name: 'Ada',
        last_name: 'Example',
        email: 'ada@example.com',
        phone: '+14155550123' as const,
        additional_info: { ...additional, lead_id: ' crm-1 ' },
      },
      consent: { tcpa_opt_in_token: 'consent-1', tcpa_opt_in_url: 'https://consent.example/1' },
      fields: { ...valid, first_name: ' Ada ', lead_id: ' crm-1 ' },
    }),
  )
})

test('an address of consent with letters beyond ASCII is valid, however many came before', (t) => {
  const fields = { ...valid, tcpa_opt_in_url: 'https://zustimmung-münchen.example/1' }
  const refused = Array.from({ length: 20_000 }, () => problemsOf(fields, [])).filter((problems) => problems.length > 0)
  t.is(refused.length, 0)
})

test('what is not an object of fields is one problem', (t) => {
  for (const body of [null, undefined, 'text', 1, true, [], [valid]]) {
    t.deepEqual(problemsOf(body), ['the submission must be an object of fields'])
  }
})

test('every missing field is named at once, and nothing else', (t) => {
  holds(
    t,
    fc.property(fc.subarray(required), fc.constantFrom(undefined, null, '', ' \n\t', '\u00a0'), (names, missing) => {
      const emptied = { ...valid, ...Object.fromEntries(names.map((name) => [name, missing])) }
      const expected = names.map((name) => `${name} is required`).toSorted()
      assert.deepEqual(problemsOf(emptied), expected)
      assert.deepEqual(problemsOf(without(...names)), expected)
    }),
  )
})

test('the phone and both TCPA fields are required whatever the playbook asks for', (t) => {
  t.deepEqual(problemsOf({}, []), ['phone is required', 'tcpa_opt_in_token is required', 'tcpa_opt_in_url is required'])
  const { phone, tcpa_opt_in_token, tcpa_opt_in_url } = valid
  t.deepEqual(problemsOf({ phone, tcpa_opt_in_token, tcpa_opt_in_url }, []), [])
})

test('a field that the playbook does not ask for may be left out', (t) => {
  const decoded = decodeSubmission([], at(), without('first_name', 'last_name', 'email'))
  t.true(E.isRight(decoded))
  if (E.isLeft(decoded)) return
  const { first_name, last_name, email } = decoded.right.details
  t.deepEqual({ first_name, last_name, email }, { first_name: '', last_name: '', email: '' })
})

const formats: Readonly<Record<string, { problem: string; good: ReadonlyArray<string>; bad: ReadonlyArray<unknown> }>> =
  {
    email: {
      problem: 'an e-mail address',
      good: ['a@b', "o'neil+tag@sub.example.co.uk", ' ada@example.com ', 'ádá@exämple.com'],
      bad: ['ada', '@example.com', 'ada@', 'ada@example@com', 'ada example@example.com', 'a@ b', 12, true],
    },
    phone: {
      problem: 'a phone number',
      good: ['4155550123', '+44 20 7946 0123', ' 415.555.0123 '],
      bad: ['12', 'none', '+', '555-0123', ' 491-2345', '1'.repeat(40), '+999 123', false],
    },
    date_of_birth: {
      problem: 'a past date, YYYY-MM-DD',
      good: ['1990-02-28', '2024-02-29', '2026-01-14', ' 1990-02-28 '],
      bad: [
        '2026-01-15',
        '2030-01-01',
        '1990-02-30',
        '2023-02-29',
        '28.02.1990',
        '1990-2-8',
        '1990-13-01',
        '1990-02-28T00:00:00Z',
        19900228,
      ],
    },
    current_residence_state: {
      problem: 'the two letters of a US state or territory',
      good: ['CA', 'ca', 'Ny', ' TX ', 'DC', 'PR', 'GU', 'AE', 'AP', 'AA', 'FM', 'MH', 'PW'],
      bad: ['California', 'XX', 'C', 'C A', 'CAL', 'ON', 1],
    },
    tcpa_opt_in_url: {
      problem: 'an http or https URL',
      good: ['https://consent.example/1', 'http://consent.example/?id=1#x', ' HTTPS://CONSENT.EXAMPLE '],
      bad: [
        'consent',
        'consent.example/1',
        5,
        'ftp://consent.example',
        'javascript:alert(1)',
        'https://',
        'mailto:a@b.example',
      ],
    },
  }

for (const [name, { problem, good, bad }] of Object.entries(formats)) {
  test(`${name} must be ${problem}`, (t) => {
    for (const text of good) t.deepEqual(problemsOf({ ...valid, [name]: text }), [], text)
    for (const value of bad)
      t.deepEqual(problemsOf({ ...valid, [name]: value }), [`${name} must be ${problem}`], String(value))
  })
}

test('any other required field is any text that is not blank', (t) => {
  const free = required.filter((name) => formats[name] === undefined)
  holds(
    t,
    fc.property(fc.constantFrom(...free), fc.string({ unit: 'grapheme', minLength: 1 }), (name, text) => {
      assert.deepEqual(problemsOf({ ...valid, [name]: text }), text.trim() === '' ? [`${name} is required`] : [])
    }),
  )
})

test('an e-mail address must be one wherever it is sent, other formats only where they are asked for', (t) => {
  const wrong = { ...valid, email: 'none', date_of_birth: 'long ago', current_residence_state: 'Bavaria' }
  t.deepEqual(problemsOf(wrong, []), ['email must be an e-mail address'])
})

test('numbers and booleans are read as their text', (t) => {
  const decoded = decodeSubmission(standardFields, at(), {
    ...valid,
    phone: 4155550123,
    current_residence_zip: 94016,
    gender: true,
    score: 0,
    factor: 0.5,
    big: 1e21,
    homeowner: false,
  })
  t.true(E.isRight(decoded))
  if (E.isLeft(decoded)) return
  t.is(decoded.right.details.phone, '+14155550123')
  const { current_residence_zip, gender, score, factor, big, homeowner } = decoded.right.details.additional_info
  t.deepEqual(
    { current_residence_zip, gender, score, factor, big, homeowner },
    {
      current_residence_zip: '94016',
      gender: 'true',
      score: '0',
      factor: '0.5',
      big: '1e+21',
      homeowner: 'false',
    },
  )
})

test('an extra field that is an object or a list is stored as its JSON text', (t) => {
  const decoded = decodeSubmission([], at(), { ...valid, cars: [{ year: 2020 }], answers: { pets: 2 } })
  t.true(E.isRight(decoded))
  if (E.isLeft(decoded)) return
  const { cars, answers } = decoded.right.details.additional_info
  t.deepEqual({ cars, answers }, { cars: '[{"year":2020}]', answers: '{"pets":2}' })
})

test('a field that the service reads itself must be a text', (t) => {
  for (const value of [{}, [], ['CA'], { a: 1 }]) {
    for (const name of required) t.deepEqual(problemsOf({ ...valid, [name]: value }), [`${name} must be a text`])
    t.deepEqual(problemsOf({ ...valid, email: value }, []), ['email must be a text'])
  }
  // As a form that names it twice is read.
  t.deepEqual(problemsOf({ ...valid, email: ['a@example.com', ''] }), ['email must be a text, and be given once'])
})

test('a text has at most 10,000 characters, in any field', (t) => {
  const fits = 'x'.repeat(10_000)
  t.deepEqual(problemsOf({ ...valid, tcpa_opt_in_token: fits, wording: fits }), [])
  t.deepEqual(problemsOf({ ...valid, tcpa_opt_in_token: `${fits}x`, wording: `${fits}x` }), [
    'tcpa_opt_in_token must have at most 10,000 characters',
    'wording must have at most 10,000 characters',
  ])
  t.deepEqual(problemsOf({ ...valid, list: [fits] }), ['list must have at most 10,000 characters'])
})

test('a submission has at most 500 fields', (t) => {
  const extras = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`extra_${n}`, 'x']))
  const room = 500 - required.length
  t.deepEqual(problemsOf({ ...valid, ...extras(room) }), [])
  t.deepEqual(problemsOf({ ...valid, ...extras(room + 1) }), ['a submission has at most 500 fields'])
})

test('every problem is named at once', (t) => {
  const body = { ...without('first_name', 'gender'), email: 'none', phone: {}, wording: 'x'.repeat(10_001) }
  t.deepEqual(problemsOf(body), [
    'email must be an e-mail address',
    'first_name is required',
    'gender is required',
    'phone must be a text',
    'wording must have at most 10,000 characters',
  ])
})

test('a field whose name begins like a required one does not hide that it is missing', (t) => {
  const body = { ...without('phone'), 'phone number': 'x'.repeat(10_001) }
  t.deepEqual(problemsOf(body), ['phone is required', 'phone number must have at most 10,000 characters'])
})

test('a field of two words that is too long is one problem', (t) => {
  const body = { ...valid, 'home phone': 'x'.repeat(10_001) }
  t.deepEqual(problemsOf(body, ['home phone']), ['home phone must have at most 10,000 characters'])
})

test('a name that is no name is not shown: it may be the whole lead, sent as something else', (t) => {
  for (const name of ['n'.repeat(101), '{"first_name":"Ada"}', 'ada@example.com', '名前']) {
    t.deepEqual(problemsOf({ ...valid, [name]: 'x'.repeat(10_001) }), ['a field must have at most 10,000 characters'])
  }
})

test('names that mean something to JavaScript are fields like any other', (t) => {
  const body: unknown = JSON.parse(JSON.stringify(valid).replace('{', '{"__proto__":"a","constructor":"b",'))
  const decoded = decodeSubmission(standardFields, at(), body)
  t.true(E.isRight(decoded))
  if (E.isLeft(decoded)) return
  const info = decoded.right.details.additional_info
  t.regex(JSON.stringify(info), /"__proto__":"a","constructor":"b"/)
  t.deepEqual(problemsOf(valid, ['toString']), ['toString is required'])
})

/** No sentence of ours holds these marks, so that a value with them can't stand in one by chance. */
const secret = fc.string({ unit: 'grapheme' }).map((text) => `«${text}»`)
const leaf = fc.oneof(
  secret,
  secret.map((text) => `${text}@example.com`),
  fc.integer({ min: 10 ** 9 }),
)
const value = fc.oneof(
  leaf,
  fc.array(leaf),
  fc.dictionary(fc.string(), leaf),
  secret.map((text) => text.repeat(2000)),
)
const extraName = fc.stringMatching(/^[a-z_]{1,20}$/)

test('no problem ever holds a submitted value', (t) => {
  const body = fc.tuple(fc.dictionary(fc.constantFrom(...required), value), fc.dictionary(extraName, value))
  holds(
    t,
    fc.property(body, fc.subarray(required), ([own, extra], asked) => {
      const text = problemsOf({ ...extra, ...own }, asked).join('\n')
      assert.ok(!text.includes('«') || text.includes('»'))
      assert.doesNotMatch(text, /\d{9}/)
    }),
    { numRuns: 300 },
  )
})

test('no body makes the reader throw, and each problem names a field', (t) => {
  holds(
    t,
    fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(extraName, fc.jsonValue())), (body) => {
      const problems = problemsOf(body)
      assert.ok(problems.length > 0)
      assert.ok(problems.every((problem) => /^.+ (is required|must (be|have) .+)$|at most 500 fields$/.test(problem)))
    }),
  )
})

test('every field that is accepted stands in the details, the consent or the additional information', (t) => {
  holds(
    t,
    fc.property(fc.dictionary(extraName, leaf), fc.subarray(required), (extra, asked) => {
      const decoded = decodeSubmission(asked, at(), { ...extra, ...valid })
      assert.ok(E.isRight(decoded))
      const { details, consent, fields } = decoded.right
      const { additional_info, phone, ...others } = details
      const stored = { ...additional_info, ...others, ...consent }
      const { phone: sentPhone, ...sent } = fields
      assert.equal(phone, phoneFromText(sentPhone ?? ''))
      assert.deepEqual(stored, sent)
    }),
  )
})

const source = { title: 'Search ads', originatorField: null }

test('an originator is the lead_id of the customer, else the external_id', (t) => {
  t.deepEqual(originatorsOf(source, { lead_id: ' crm-1 ', external_id: 'x-1' }), [
    { origin: 'Search ads', key: 'crm-1' },
  ])
  t.deepEqual(originatorsOf(source, { external_id: 'x-1' }), [{ origin: 'Search ads', key: 'x-1' }])
  t.deepEqual(originatorsOf(source, { other: 'x-1' }), [])
})

test('a source may name the field of its originator, and then no other counts', (t) => {
  const named = { ...source, originatorField: 'crm_key' }
  t.deepEqual(originatorsOf(named, { crm_key: 'k', lead_id: 'crm-1' }), [{ origin: 'Search ads', key: 'k' }])
  t.deepEqual(originatorsOf(named, { lead_id: 'crm-1' }), [])
  t.deepEqual(originatorsOf({ ...source, originatorField: 'constructor' }, {}), [])
})

const acceptor = {
  source: {
    kind: 'created',
    sourceId: sourceId(),
    accountId: accountId(),
    playbookId: playbookId(),
    suspended: false,
    limitPerMinute: null,
    ...source,
  },
  secret: Buffer.alloc(32, 1) as Buffer as AccountSecret,
} as const

const accepted = (changed: Readonly<Record<string, string>>): Submission => {
  const decoded = decodeSubmission([], at(), { ...valid, ...changed })
  if (E.isLeft(decoded)) throw new Error(decoded.left.join(', '))
  return decoded.right
}

const leadOf = (changed: Readonly<Record<string, string>>, n = 1) =>
  leadFactsOf(acceptor, accepted(changed), leadId(n), engagementId(n))

test('a lead holds what was submitted, and the source and the contact that it belongs to', (t) => {
  const { details, consent } = accepted({ lead_id: 'crm-1' })
  t.deepEqual(leadOf({ lead_id: 'crm-1' }), {
    lead_id: leadIdOf(acceptor.secret, sourceId(), 'crm-1', '+14155550123'),
    account_id: accountId(),
    source_id: sourceId(),
    source_title: 'Search ads',
    playbook_id: playbookId(),
    contact_id: contactIdOf(acceptor.secret, '+14155550123'),
    engagement_id: engagementId(),
    details,
    consent,
    originators: [{ origin: 'Search ads', key: 'crm-1' }],
  })
})

test('with an originator it is the same lead whenever it comes with the same number, without one never', (t) => {
  t.is(leadOf({ lead_id: 'crm-1' }, 1).lead_id, leadOf({ lead_id: 'crm-1', first_name: 'Grace' }, 2).lead_id)
  t.not(leadOf({ lead_id: 'crm-1' }).lead_id, leadOf({ lead_id: 'crm-1', phone: '(415) 555-0124' }).lead_id)
  t.deepEqual([leadOf({}, 1).lead_id, leadOf({}, 2).lead_id], [leadId(1), leadId(2)])
})
