import { t } from './codec.js'
import type { PlaybookSettings } from './playbook.js'

/** What a text of a contact means: an outcome of its engagement, a request that a provider answers, or `reply`, any other text. */
export const ReplyMeaning = t.keyof(
  {
    opted_out: null,
    qualified: null,
    unqualified: null,
    not_interested: null,
    help: null,
    opted_in: null,
    reply: null,
  },
  'what a reply means',
)
export type ReplyMeaning = t.TypeOf<typeof ReplyMeaning>

/** The words by which carriers, and 47 CFR 64.1200(a)(10), know an opt-out; each counts where it stands alone. */
const stopWords = ['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit', 'revoke', 'optout', 'opt out']

/** Plain refusals, in English and Spanish, wherever in a text they stand. */
const refusals = [
  'stop texting',
  'stop messaging',
  'stop contacting',
  'stop sending',
  'stop calling',
  'please stop',
  'remove me',
  'take me off',
  'unsubscribe me',
  'no more messages',
  'no more texts',
  'wrong number',
  'do not text',
  'don t text',
  'do not contact',
  'don t contact',
  'leave me alone',
  'no me escriba más',
  'no me escriba mas',
  'no me escriban más',
  'no me escriban mas',
  'no más mensajes',
  'no mas mensajes',
  'número equivocado',
  'numero equivocado',
  'deje de escribirme',
]

const startWords = ['start', 'unstop']
const helpWords = ['help', 'info']

/** In lower case, without punctuation: its words with one blank between them. */
const wordsOf = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

const holds = (words: string, phrase: string): boolean => ` ${words} `.includes(` ${phrase} `)

/**
 * What the text means under these rules. Opt-outs are built in: a playbook's rules add words to them and take none away. `isOptedOut`:
 * then a YES opts in again.
 */
export const meaningOf = (
  text: string,
  { reply_rules }: Pick<PlaybookSettings, 'reply_rules'>,
  isOptedOut: boolean,
): ReplyMeaning => {
  const words = wordsOf(text)
  if (stopWords.includes(words) || refusals.some((phrase) => holds(words, phrase))) return 'opted_out'
  if (startWords.includes(words) || (isOptedOut && words === 'yes')) return 'opted_in'
  if (helpWords.includes(words)) return 'help'
  const rule = reply_rules.find((one) => one.words.map(wordsOf).some((phrase) => phrase !== '' && holds(words, phrase)))
  return rule?.outcome ?? 'reply'
}
