import test from 'ava'
import fc from 'fast-check'
import { SegmentedMessage } from 'sms-segments-calculator'
import {
  linksIn,
  longestMessage,
  messageOf as textOf,
  templateProblem,
  type FieldValues,
} from '../../domain/message-template.js'
import { linkCodeFrom, linkUrl } from '../../domain/tracked-link.js'
import { codePoint } from '../kit/domain/code-point.js'

const known = new Set(['first_name', 'last_name', 'account'])

const messageOf = (template: string, values: FieldValues): string =>
  textOf(template, values, (index) => linkUrl('https://leads.example.com', linkCodeFrom('0'.repeat(26)), index))

test('a message holds the fields of the lead', (t) => {
  const text = messageOf('Hi {{first_name}} {{ last_name }}, this is {{account}}.', {
    first_name: 'Ada',
    last_name: ' Lovelace ',
    account: 'Acme',
  })
  t.is(text, 'Hi Ada Lovelace, this is Acme.')
})

for (const [template, text] of [
  ['Hi {{first_name}}, thanks', 'Hi, thanks'],
  ['Hi {{first_name}} {{last_name}}!', 'Hi!'],
  ['{{first_name}}, your quote is ready.', 'Your quote is ready.'],
  ['{{first_name}} {{last_name}}: your quote', 'Your quote'],
  ['Thanks. {{first_name}}, we call you.', 'Thanks. We call you.'],
  ['Your {{first_name}} quote', 'Your quote'],
  ['Still there, {{first_name}}?', 'Still there?'],
  ['Hello, {{first_name}}, how are you?', 'Hello, how are you?'],
  ['We miss you, {{first_name}} {{last_name}}', 'We miss you'],
  ['We call you ({{first_name}}) soon', 'We call you soon'],
  ['Thanks {{first_name}}\nReply STOP', 'Thanks\nReply STOP'],
  ['{{first_name}}', ''],
  ['Hi {{first_name}} , thanks', 'Hi, thanks'],
  ['Bonjour {{first_name}} !', 'Bonjour!'],
  ['{{first_name}}! Your quote is ready.', 'Your quote is ready.'],
  ['{{first_name}} - your quote', 'Your quote'],
  ['Thanks. {{first_name}}. We call you.', 'Thanks. We call you.'],
  ['¿{{first_name}}, está?', '¿Está?'],
  ['Hi, {{first_name}} - your quote', 'Hi - your quote'],
  ['Your quote: {{first_name}}, call us', 'Your quote: call us'],
  ["{{first_name}}'s quote is ready", 'Quote is ready'],
  ['We call you [{{first_name}} {{last_name}}] *{{first_name}}* soon', 'We call you soon'],
  ['Hello {{first_name}}{{last_name}} there', 'Hello there'],
  ['{{first_name}} https://www.example.com', 'https://www.example.com'],
  ['Hi {{first_name}} & {{last_name}}, thanks', 'Hi, thanks'],
] as const) {
  test(`a blank value reads well in: ${template.replaceAll('\n', ' / ')}`, (t) => {
    t.is(messageOf(template, {}), text)
    t.is(messageOf(template, { first_name: ' \t', last_name: '' }), text)
  })
}

test('of two values of which one is blank the other reads well', (t) => {
  const [first, last] = [{ first_name: 'Ada' }, { last_name: 'Lovelace' }]
  t.is(messageOf('Dear {{first_name}} {{last_name}}, hi', first), 'Dear Ada, hi')
  t.is(messageOf('Dear {{first_name}} & {{last_name}}, hi', first), 'Dear Ada, hi')
  t.is(messageOf('Dear {{first_name}} & {{last_name}}, hi', last), 'Dear Lovelace, hi')
  t.is(messageOf('Dear {{first_name}} {{last_name}}, hi', last), 'Dear Lovelace, hi')
  t.is(messageOf('Dear {{first_name}}{{last_name}}, hi', last), 'Dear Lovelace, hi')
  t.is(messageOf('Hi {{first_name}}, {{account}} again.', { account: 'Acme' }), 'Hi, Acme again.')
  const address = 'You live at {{street}}, {{city}}, {{state}}, right?'
  t.is(messageOf(address, { street: '1 Main Street', state: 'CA' }), 'You live at 1 Main Street, CA, right?')
  t.is(messageOf(address, { city: 'Reno' }), 'You live at Reno, right?')
  t.is(messageOf('{{city}},{{state}}', { city: '{{state}}', state: 'NV' }), '{{state}},NV')
})

test('a field may have any name without braces, colons and spaces', (t) => {
  for (const name of ['PetName', 'Größe', 'lead.pet-name', '2nd_car', 'constructor', '__proto__']) {
    const template = `How is {{${name}}}?`
    t.is(templateProblem(template, new Set([name])), undefined, name)
    t.is(messageOf(template, Object.fromEntries([[name, 'Blacky']])), 'How is Blacky?', name)
    t.is(messageOf(template, {}), 'How is?', name)
  }
})

test('what a vendor sends stays on one line and short', (t) => {
  const text = messageOf('Hi {{first_name}}!', { first_name: `A\nB\u0000${'x'.repeat(1_000)}` })
  t.is(text, `Hi A B ${'x'.repeat(56)}!`)
})

test('a template that names no field of a lead is refused, and one with a brace too few', (t) => {
  t.is(templateProblem('Hi {{first_name}}, this is {{account}}', known), undefined)
  for (const template of ['Hi {{name}}', 'Hi {{first_name}', 'Hi {{}}', 'Hi {{First_Name}}', 'Hi }}', 'Hi {{a b}}']) {
    t.is(
      templateProblem(template, known),
      'a text whose {{…}} each hold one of first_name, last_name, account, or link: and a URL',
      template,
    )
  }
  t.is(templateProblem('Hi\u0007', known), 'a text without control characters')
})

test('whatever the lead, a message that was accepted is never too long, and shows no trace of a blank', (t) => {
  const part = fc.oneof(
    fc.constantFrom('{{first_name}}', '{{account}}', ' ', '{{link:https://www.example.com}}'),
    fc.string({ maxLength: 80, unit: codePoint }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), fc.string({ unit: codePoint }), (parts, value) => {
      const template = parts.join('')
      fc.pre(templateProblem(template, known) === undefined)
      const text = messageOf(template, { first_name: value, account: value })
      t.true(text.length <= longestMessage)
      t.false(text.includes('\u0000'))
    }),
  )
})

test('a template of the greatest length is accepted, a longer one is refused', (t) => {
  t.is(templateProblem(`{{account}}${'x'.repeat(longestMessage - 60)}`, known), undefined)
  t.regex(templateProblem(`{{account}}${'x'.repeat(longestMessage - 59)}`, known) ?? '', /at most 1600 characters/)
})

test('links are short, each has a number, and where they lead to is not in the message', (t) => {
  const template = '{{first_name}}: {{link:https://a.example.com/x?y=1}} or {{ link: http://b.example.com }}.'
  t.is(templateProblem(template, known), undefined)
  const short = `https://leads.example.com/l/${'0'.repeat(14)}`
  t.is(messageOf(template, { first_name: 'Ada' }), `Ada: ${short}0 or ${short}1.`)
  t.deepEqual(linksIn(template), ['https://a.example.com/x?y=1', 'http://b.example.com'])
})

test('a link that leads nowhere is refused, and more links than a message may have', (t) => {
  for (const link of ['www.example.com', 'javascript:alert(1)', 'https://', 'mailto:ada@example.com'])
    t.regex(templateProblem(`See {{link:${link}}}`, known) ?? '', /http or https URL/, link)
  t.truthy(templateProblem('See {{link:https://www.example.com/{{first_name}}}}', known))
  t.truthy(templateProblem('See {{link:}}', known))
  t.regex(templateProblem('{{link:https://www.example.com}} '.repeat(11), known) ?? '', /at most 10 links/)
})

test('what a vendor sends makes no link', (t) => {
  const text = messageOf('Hi {{first_name}}', { first_name: '{{link:localhost}} {{account}}' })
  t.is(text, 'Hi {{link:localhost}} {{account}}')
})

test('what somebody fills in for another number makes no address that a telephone would open', (t) => {
  const greeted = (first_name: string) => messageOf('Hi {{first_name}}, thanks', { first_name })
  t.is(greeted('claim it: https://evil.example/claim'), 'Hi, thanks')
  t.is(greeted('evil.example/claim or www.evil.example'), 'Hi evil. example/claim or www. evil. example, thanks')
  t.is(greeted('evil。example'), 'Hi evil。 example, thanks')
  // A letter of an Indian script may bear its vowel as a mark, which is no letter.
  for (const ending of ['भारत', 'বাংলা', 'ಭಾರತ']) t.is(greeted(`evil.${ending}`), `Hi evil. ${ending}, thanks`)
  t.is(greeted('Ada \u202Egpj.exe\u202C'), 'Hi Ada gpj. exe, thanks')
  t.is(greeted('J. R. St.John-Smith Jr.'), 'Hi J. R. St. John-Smith Jr., thanks')
  for (const opened of ['pay http:\u200E//203.0.113.5/pay', 'http:/\u200E/3405803781/a', '203.0.113.5/pay', '\u200E'])
    t.is(greeted(opened), 'Hi, thanks', opened)
  t.is(greeted('Model 2.0'), 'Hi Model 2.0, thanks')
  t.is(messageOf('{{email}}', { email: 'http://evil.example/claim?@x' }), '')
  t.is(messageOf('{{email}}', { email: 'evil.example/claim?@x' }), 'evil. example/claim?@x')
  const own = messageOf('{{account}}: {{email}}', { account: 'acme.com', email: 'ada@example.com' })
  t.is(own, 'acme.com: ada@example.com')
})

test('nor does it make one once a provider has replaced characters by similar ones, or left out what is not seen', (t) => {
  const received = (first_name: string) => {
    const text = messageOf('Hi {{first_name}}, thanks', { first_name })
    return new SegmentedMessage(text, 'auto', true).graphemes.join('')
  }
  for (const dot of ['.\u200B', '.\u200C', '.\u2060', '.\uFEFF', '.\u00AD', '\uFE52', '\uFF0E', '\u2024'])
    t.notRegex(
      received(`evil${dot}example`),
      /evil[.\u2024](?! )/,
      `U+${dot.codePointAt(dot.length - 1)?.toString(16)}`,
    )
  for (const scheme of [
    'http:\u200B//',
    'http:/\u2060/',
    'http\uFF1A//',
    'http:\uFF0F\uFF0F',
    'http\uA789\u2044\u2215',
  ])
    t.is(received(`${scheme}3405803781/a`), 'Hi, thanks', scheme)
  for (const opened of ['\uFF12\uFF10\uFF13.0.113.5', '203\uFE520\uFE52113\uFE525', '203.\u200B0.113.5'])
    t.is(received(opened), 'Hi, thanks', opened)
  const joined = '\u0645\u06CC\u200C\u0634'
  t.is(messageOf('Hi {{first_name}}', { first_name: joined }), `Hi ${joined}`)
})

test('an e-mail address stands in a message whole or as no address: of a part a telephone would open the host', (t) => {
  const mailed = (email: string) => messageOf('Mail to {{email}}', { email })
  const host = `${'a'.repeat(47)}.evil.example`
  t.is(host.length, 60)
  t.is(mailed(`${host}@x.example`), `Mail to ${'a'.repeat(47)}. evil. examp`)
  t.is(mailed('evil.example@x'), 'Mail to evil. example@x')
  t.is(mailed('203.0.113.5@x'), 'Mail to')
  const longest = `ada.lovelace@${'b'.repeat(39)}.example`
  t.is(longest.length, 60)
  t.is(mailed(longest), `Mail to ${longest}`)
})
