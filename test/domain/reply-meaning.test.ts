import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { meaningOf } from '../../domain/reply-meaning.js'
import { holds } from '../kit/domain/property.js'

const rules = {
  reply_rules: [
    { words: ['not interested', 'no thanks'], outcome: 'not_interested' },
    { words: ['yes', 'call me'], outcome: 'qualified' },
    { words: ['stop', 'moved away'], outcome: 'unqualified' },
  ],
} as const

const meanings = (isOptedOut: boolean, ...texts: ReadonlyArray<string>) =>
  texts.map((text) => meaningOf(text, rules, isOptedOut))

test('a word of opting out counts where it stands alone, in any case and with punctuation', (t) => {
  const alone = [
    'STOP',
    'stop.',
    ' "Stop!" ',
    'STOPALL',
    'Unsubscribe',
    'cancel',
    'END',
    'quit',
    'Revoke',
    'OPTOUT',
    'opt-out',
    'Opt out',
  ]
  t.deepEqual(new Set(meanings(false, ...alone)), new Set(['opted_out']))
  t.deepEqual(meanings(false, 'When does it end?', 'I quit smoking'), ['reply', 'reply'])
})

test('a plain refusal opts out wherever in a text it stands, in English and Spanish', (t) => {
  const refusals = [
    'Please stop texting me!!',
    "Don't text this number",
    'remove me from your list',
    'You have the WRONG NUMBER',
    'no more messages please',
    'No me escriba más, gracias',
  ]
  t.deepEqual(new Set(meanings(false, ...refusals)), new Set(['opted_out']))
})

test('the first rule with one of its words or phrases counts, as whole words only', (t) => {
  t.deepEqual(meanings(false, 'Yes, call me', 'No thanks - yes really', 'yesterday'), [
    'qualified',
    'not_interested',
    'reply',
  ])
  t.deepEqual(meanings(false, 'We moved  away'), ['unqualified'])
})

test('START opts in again, and YES does after an opt-out; HELP and INFO ask for help', (t) => {
  t.deepEqual(meanings(true, 'start', 'UNSTOP', 'Yes!'), ['opted_in', 'opted_in', 'opted_in'])
  t.deepEqual(meanings(false, 'yes', 'help', 'INFO?'), ['qualified', 'help', 'help'])
})

test('no rule takes an opt-out away', (t) => {
  const outcome = fc.constantFrom('qualified', 'unqualified', 'not_interested')
  const anyRules = fc.array(
    fc.record({ words: fc.array(fc.constantFrom('stop', 'quit', 'wrong number', '')), outcome }),
  )
  holds(
    t,
    fc.property(
      anyRules,
      fc.constantFrom('STOP', 'quit', 'wrong number, sorry'),
      fc.boolean(),
      (reply_rules, text, out) => {
        assert.equal(meaningOf(text, { reply_rules }, out), 'opted_out')
      },
    ),
  )
})
