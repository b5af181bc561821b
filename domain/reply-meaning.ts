import { t } from './codec.js'
import type { PlaybookSettings } from './playbook-settings.js'

/**
 * What a text of a contact means: an outcome of its engagement, a request that a provider answers, or `reply`, any
 * other text.
 */
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

/** What a provider that answers opt-outs, opt-ins and requests for help itself may take a text for. */
export type ProviderMark = Extract<ReplyMeaning, 'opted_out' | 'opted_in' | 'help'>

/**
 * The words by which carriers, and 47 CFR 64.1200(a)(10), know an opt-out; each counts where nothing but `besideStop`
 * stands beside it.
 */
const stopKeywords = ['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit', 'revoke', 'optout']
const stopWords: ReadonlySet<string> = new Set([
  ...stopKeywords,
  ...['unsub', 'remove', 'alto', 'basta', 'cancelar', 'cancele', 'cancelen', 'pare', 'paren', 'parar', 'detener'],
  ...['desuscribir', 'desuscribirme'],
])
const besideStop = new RegExp(
  `\\b(?:${[
    ...[
      'please',
      'pls',
      'plz',
      'now',
      'right now',
      'immediately',
      'asap',
      'already',
      'it',
      'this',
      'all',
      'just',
      'and',
      'no',
    ],
    ...[
      'ok',
      'okay',
      'thanks',
      'thank you',
      'no thanks',
      'no thank you',
      'thx',
      'ty',
      'hi',
      'hey',
      'hello',
      'i said',
      'im good',
      'im not interested',
      'i am not interested',
    ],
    ...['not interested', 'por favor', 'ya', 'y', 'gracias', 'no gracias', 'no me interesa', 'no estoy interesad[oa]'],
  ]
    // The longest first: a shorter one would leave its rest.
    .toSorted((one, other) => other.length - one.length)
    .join('|')})\\b`,
  'g',
)

/** Some send it as the message has it: "Reply STOP to end". */
const repeatedInstruction = /^(reply |text |txt |send )?stop( ?(to|2) ?(end|stop|quit|cancel|optout|unsubscribe))?$/

const texts = '((text |sms )?(messages|msgs|texts|txts|sms)|text$)'
/** "Not after eight" asks for another time. */
const atAnyTime =
  '(?! (after|before|between|during|until|till|while|tonight|today|so late|this late|in the (morning|afternoon|evening|middle)|at (\\d|noon|night|work|lunch)|on (my|mon|tue|wed|thu|fri|sat|sun|weekends|the weekend)|past \\d))'

const atAnyTimeInSpanish =
  '(?! (antes|despues|hasta|hoy|ahora|en la (manana|tarde|noche)|(en el|al) trabajo|(en|a) la oficina|por la|de noche|a las|tan (temprano|tarde)|los (lunes|martes|miercoles|jueves|viernes|sabados|domingos|fines)))'

/** Plain refusals, in English and Spanish, wherever in a sentence they stand. */
const refusals: ReadonlyArray<RegExp> = [
  // Who asks not to stop begins with it; "you never stop" is a complaint.
  /(?<!(?:^|\b(?:please|yes|no) )(?:dont|do not|never)(?: ever)? )\b(stop|quit) (texting|txting|messaging|msging|contacting|sending|calling|bothering|writing|spamming|harassing)\b/,
  /\bplease stop( it| this| now| already| thanks| thank you)?$/,
  /\b(can|could|will|would) (you|u) (please |just )*stop$/,
  /(?<!\b(?:dont|do not) )\b(want|need|told|asked|said for|like) (you|u) to (please )?stop$/,
  // Many leave out what would part the STOP from the rest.
  /^(please )?stop (i|im|ive|already|or (i|im|ill|we))\b/,
  new RegExp(
    `\\b(dont|do not|never)( ever)? (text|txt|message|msg|contact|write|bother)( to)?( me| us| this number| here| again| anymore| any more|$)${atAnyTime}`,
  ),
  /\b(dont|do not|never)( ever)? call( me| us)?( again| anymore| any more| ever)?( please| thanks| thank you)?$/,
  /^no more( please| thanks| thank you)?$/,
  new RegExp(`\\bno more ${texts}\\b`),
  new RegExp(`^no (text|${texts})( please| thanks| thank you)?$`),
  new RegExp(`\\b(stop|cancel|end) (all |any |the |these |those |your |ur |more |further |future )*${texts}\\b`),
  /^(please )?cancel (my |this |the )?subscription( please| thanks| thank you)?$/,
  new RegExp(
    `\\b(dont|do not|no longer) (want|wish|need)( to (get|receive))?( any| more| further| of| your| these| those| the)* ${texts}\\b${atAnyTime}`,
  ),
  new RegExp(
    `\\b(dont|do not|no longer) (want|wish) to (hear from|be (texted|messaged|contacted|bothered))\\b${atAnyTime}`,
  ),
  /\b(revoke|withdraw) (my |all |any )*(consent|permission)\b/,
  /^(i |please )?(optout|unsubscribe)( of| from| this| all|$)/,
  /\bhow (do|can|to)( i)? (optout|unsubscribe)$/,
  /^(i am|im) opting out\b/,
  /\b(unsubscribe me|opt me out)\b/,
  // Who is to be taken off a policy says whose, or what is to be done instead.
  /\b(remove (me|us|my name)|delete (me|us)|take (me|us|my (name|number)) off)\b(?! ((from|of) )?(my|his|her|our)\b| and (add|put|use)\b| as drivers?\b|.*\b(policy|policies|quotes?|coverage|title|deed)\b)/,
  /\b(remove|delete|lose|erase) (my|this) (number|info|information|phone number)\b/,
  /\b(want|wish|like) to (optout|unsubscribe)\b/,
  /\bwrong (number|person)\b(?! (of|\d))/,
  /\bleave (me|us) alone\b/,
  /^go away\b/,
  /\b(fuck|piss) off\b/,
  /^(ya )?no mas( por favor| gracias)?$/,
  /\bno me (escriba[ns]?|contacte[ns]?|moleste[ns]?|llame[ns]?|textee[ns]?)( mas| nunca|( por favor)?( gracias)?$)/,
  /\bno escriba[ns]? mas\b/,
  /\bdej(a|e|en)me en paz\b/,
  /\bequivoc(o|aron|ado) de (numero|persona)\b/,
  /\bno (me )?(envie[ns]?|mande[ns]?) (mas )?(mensajes|textos|nada)\b/,
  /\bno (quiero )?(recibir )?mas (mensajes|textos)\b/,
  new RegExp(`\\bno (quiero|deseo) (recibir )?(mas |sus |estos )*(mensajes|textos)\\b(?! de voz)${atAnyTimeInSpanish}`),
  new RegExp(`\\bno quiero que me (escriban?|contacten?|molesten?|texteen?)\\b${atAnyTimeInSpanish}`),
  /\bno quiero que me llamen?( mas| nunca| a este numero|( por favor)?( gracias)?$)/,
  // Without an accent "I stopped" reads like "stop".
  /\b(dej(a|e|en|es)|par(a|e|en)) de ((escribir|mandar|enviar|contactar|llamar|textear)(me\b|( mas| tanto| ya| aqui| a este numero)*( por favor| gracias)?$)|(mandar|enviar) (mas |sus |estos |tantos )*(mensajes|textos|cosas)\b|molestar(me)?\b)/,
  /^(cancelar|cancelen?|parar|paren?|detener) (los |estos |sus )?(mensajes|textos)\b/,
  /^(cancelar|cancelen?) (mi |la )?suscripcion( por favor| gracias)?$/,
  /\b(darme|dame|deme|denme) de baja\b(?!.*\b(poliza|seguro|cobertura|carro|auto|coche|vehiculo|trabajo)\b)/,
  /\b(quite|quiten|saque|saquen)me de\b/,
  /\b(borre|borren|elimine|eliminen|quite|quiten) mi numero\b/,
  /\b(numero equivocado|numero incorrecto(?! (en|de) (el|la|mi)\b)|persona equivocada)\b/,
]

const startWords = ['start', 'unstop']
const helpWords = ['help', 'info']

const answeredKeywords: ReadonlySet<string> = new Set([...stopKeywords, ...helpWords])

/** Whether a provider that answers keywords itself answers the text: one of them alone, in any case. */
export const isKeyword = (text: string): boolean => answeredKeywords.has(text.trim().toLowerCase())

/**
 * In lower case, without punctuation and accents, which people leave out: its words with one blank between them. What
 * stands for an apostrophe goes first, since one of them would come apart into a blank and an accent.
 */
const wordsOf = (text: string): string =>
  text
    .replaceAll(/['’‘ʼ＇`´]/g, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** The same where `opt out` is one word, a # a number, and a STOP of more letters a STOP, unless it is a stoop. */
const refusalWordsOf = (text: string): string =>
  wordsOf(text.replaceAll(/\b(wrong|my|this) ?#/gi, '$1 number'))
    .replaceAll(/\bopt out\b/g, 'optout')
    .replaceAll(/\bs+t+(?:o|ooo+)p+\b/g, 'stop')
    .replaceAll(/\bunsu[bs]?s?cribe\b/g, 'unsubscribe')

const holds = (words: string, phrase: string): boolean => ` ${words} `.includes(` ${phrase} `)

/**
 * By itself, whatever is said beside it: "Stop! I have one", "STOP, I have one", or the signature of a telephone in the
 * next line or behind a dash.
 */
const isStop = (text: string): boolean =>
  repeatedInstruction.test(refusalWordsOf(text)) ||
  text
    .replaceAll(/\bs[ ._*-]+t[ ._*-]+o[ ._*-]+p\b/gi, 'stop')
    .replaceAll(/\bopt\s*[-–—]\s*out\b/gi, 'optout')
    .split(/[.…!?;,—\r\n\u2028\u2029]+|\s[-–]|[-–]\s/)
    .some((clause) => {
      const rest = refusalWordsOf(clause).replaceAll(besideStop, ' ').trim()
      return rest !== '' && rest.split(/ +/).every((word) => stopWords.has(word))
    })

const isRefusal = (text: string): boolean =>
  text
    // "Don't, stop texting me" is no wish to go on.
    .split(/[.…!?;\r\n\u2028\u2029]+|(?<=\b(?:don['’]?t|not|never)),/i)
    .map(refusalWordsOf)
    .some((sentence) => refusals.some((refusal) => refusal.test(sentence)))

/**
 * A reaction to a message, such as a thumb up, comes as a text that repeats the message. None of its words are the
 * contact's: what it repeats may say how to stop, or what to answer.
 */
const reactionToMessage = new RegExp(
  `^[^\\p{L}\\p{N}“]*(?:${[
    ...['liked', 'loved', 'disliked', 'laughed at', 'emphasi[sz]ed', 'questioned', 'removed an? [^“]{1,30} from'],
    ...['(?:reacted [^“]{1,20} )?to', '(?:no )?le gustó', 'le encantó'],
  ].join('|')})\\s*“.*”\\s*$`,
  'isu',
)

/**
 * What the text means under these rules. Opt-outs are built in: a playbook's rules add words to them and take none
 * away. `isOptedOut`: then a YES opts in again. `mark`: what the provider takes it for, whatever the words; an opt-in
 * is one only after an opt-out.
 */
export const meaningOf = (
  text: string,
  { reply_rules }: Pick<PlaybookSettings, 'reply_rules'>,
  isOptedOut: boolean,
  mark?: ProviderMark,
): ReplyMeaning => {
  if (mark !== undefined && (mark !== 'opted_in' || isOptedOut)) return mark
  if (reactionToMessage.test(text)) return 'reply'
  const words = wordsOf(text)
  if (isStop(text) || isRefusal(text)) return 'opted_out'
  if (startWords.includes(words) || (isOptedOut && words === 'yes')) return 'opted_in'
  if (helpWords.includes(words)) return 'help'
  const rule = reply_rules.find((one) => one.words.map(wordsOf).some((phrase) => phrase !== '' && holds(words, phrase)))
  return rule?.outcome ?? 'reply'
}
