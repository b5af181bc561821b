import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { isKeyword, meaningOf } from '../../domain/reply-meaning.js'
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
    'stop now',
    'Stop! I already have insurance',
    'STOP, I have a policy',
    'I have one.\nUnsubscribe. Thanks, Bob',
    'STOP STOP',
    'Stop it please',
    'stop all',
    'please unsubscribe',
    'Unsubscribe, thank you',
    'STOP\n\nSent from my telephone',
    'ＳＴＯＰ',
    'Alto',
    'cancelar por favor',
    'ya pare',
    'S.T.O.P.',
    's t o p',
    'STOPPP',
    'Not interested stop',
    'Stop not interested',
    "Stop, I'm not interested",
    'I said stop',
    'remove',
    'opt out and remove',
    'No thanks, remove please',
    'stop right now',
    'No gracias, no me interesa, paren ya',
    'Stop… I already have one',
    'STOP - Bob',
    'Stop -- I already have one',
    'STOP — sent from my telephone',
    'stop—I have one',
    'STOP\rSent from my telephone',
    'STOP\u2028Sent from my telephone',
    'opt – out',
    'stooop',
    'SSTOP',
    'Stop thx',
    'Hi stop',
    'Reply STOP',
    'STOP to end',
    'stop 2 quit',
    'Unsuscribe',
    'unsubcribe please',
    'Detener',
    'Cancelen por favor',
    'desuscribir',
  ]
  t.deepEqual(
    alone.filter((text) => meaningOf(text, rules, false) !== 'opted_out'),
    [],
  )
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
    'no me escribas mas',
    'No me manden más mensajes',
    'no envíe más mensajes por favor',
    'Por favor no me contacte',
    'dejen de escribirme',
    'quíteme de la lista',
    'Número equivocado',
    'Please stop. I am driving',
    'I want to opt out',
    'opt me out',
    'dont text me',
    "Don't message me again",
    'quit texting me',
    'stop txting me',
    'delete my number',
    'lose my number',
    'Sorry, wrong person',
    'don´t text me',
    'don‘t text me',
    'don＇t text me',
    'No more text messages',
    'no more sms please',
    'Stop these messages',
    'stop sms',
    'I revoke consent',
    'revoke my consent',
    'I opt out',
    'Opt out of texts',
    'I am opting out',
    'unsub',
    'dont ever text me',
    "Don't text me at this number",
    'Stop msging me',
    'stop text',
    'no more text',
    'Do not call me',
    'Please take me off your list',
    'remove me from your insurance list',
    'déjenme en paz',
    'Se equivocó de número',
    'no escriba más',
    'No me escriba por favor',
    'no me llame más',
    "I don't want any more messages",
    'I do not want these texts',
    'I no longer want to receive texts',
    "I don't want to hear from you",
    'do not want to be contacted',
    'Cancel these messages',
    'I asked you to stop',
    'Can you please stop?',
    'No more!',
    'Remove this number please',
    'Go away',
    'No quiero recibir más mensajes',
    'STOP I already have insurance',
    'stop im good',
    'Stop or I will report you',
    'Unsubscribe from this list',
    'please unsubscribe me',
    'unsubscribe this number',
    'How do I unsubscribe?',
    'how do I opt out',
    'I revoke all consent',
    'I withdraw my consent',
    'revoke my permission',
    'Wrong #',
    'lose my #',
    'take my name off your list',
    'Take my number off',
    'remove us from your list',
    'No texts please',
    'no more msgs please',
    'stop any further messages',
    'stop ur texts',
    'Cancel my subscription',
    'No más',
    'ya no mas por favor',
    'No me llamen',
    'no me textee',
    'Número incorrecto',
    'No quiero mensajes',
    'ya no quiero recibir mensajes',
    'No quiero que me escriban',
    'dejen de llamarme',
    'Dejen de mandar mensajes',
    'paren de escribirme',
    'Quiero darme de baja',
    'deme de baja de la lista',
    'Cancelar suscripción',
    'parar los mensajes',
    'You never stop texting me!',
    "If you don't stop texting me I will sue",
    'They never stop calling',
    "Please don't, stop texting me",
    'No text please',
    'Remove me, I already got a loan',
    'No quiero que me llamen más',
    'No quiero que me escriban por favor',
    'Cancelen mi suscripción por favor',
    'Cancelen mensajes ya',
    'Deje de llamar',
    'Dejen de llamar a este número por favor',
    'Dejen de mandar cosas',
    'Quiero darme de baja de sus mensajes',
  ]
  t.deepEqual(
    refusals.filter((text) => meaningOf(text, rules, false) !== 'opted_out'),
    [],
  )
})

test('what only looks like a refusal is a reply', (t) => {
  const replies = [
    'Please stop by tomorrow at 5',
    'Please do not contact my employer, call me',
    'I was the wrong number 3 in line',
    'When does the offer end?',
    'Can I cancel my old insurance?',
    'Is the parking lot in front? I could not stop there',
    'Take your time',
    'Can you take me through the options?',
    'Do not call me before 5',
    'Out of town',
    'Can I opt out later?',
    'No me llame antes de las 5',
    'No me escriba por favor antes de las 5',
    'Is there one more message?',
    'ok thanks',
    'please',
    'not interested',
    'No, thanks',
    'remove me from my parents policy',
    'Take me off my dads insurance',
    'Can you delete me and add my wife?',
    'Can you remove me from the policy',
    'wrong number of drivers on the quote',
    "don't text me before 5, I work",
    'Please do not text me at work',
    'stop text me later',
    "I don't want texts after 8",
    "I don't want to be contacted before noon, call me at 5",
    'I said I could stop by at 5',
    'No, end of the month',
    'Can you stop by?',
    'I want no more than the basics',
    'Of cars I have no more',
    "Don't stop texting me",
    "I don't want you to stop",
    'On the front stoop',
    'Coverage - end of the month',
    'Full coverage – no stop gap',
    'stop in tomorrow',
    'How do I unsubscribe from my old insurance?',
    'Please remove my name from the policy',
    'Take my number off the quote',
    'I want to cancel my policy',
    'No text box on your form',
    'no me llamen antes de las 5',
    'No quiero mensajes en la noche',
    'quiero dar de baja mi seguro',
    'No mas de 100 al mes',
    'No quiero que me llamen hoy',
    "Please don't stop texting me",
    'Do not ever stop texting me',
    'No quiero que me llamen, mejor por texto',
    'No quiero que me llamen a la oficina',
    'No quiero que me escriban los domingos',
    'No quiero mensajes de voz, texto mejor',
    'Dejen de llamar a mi esposa, llamen a mi celular',
    'Ya dejé de mandar dinero al otro seguro',
    'Dejé de escribir porque estaba manejando',
    'Número incorrecto en la póliza',
    'Ese es el número incorrecto de mi placa',
    'Cancelar la suscripción con mi seguro anterior, ¿cuesta?',
    'Dame de baja el carro viejo',
    'Please remove my name from the title of the car',
    'Take my name off the deed',
    'Delete us as drivers and add my son',
    'Take my number off and use my office line',
  ]
  for (const text of replies) t.is(meaningOf(text, { reply_rules: [] }, false), 'reply', text)
})

test('a reaction to a message, such as a thumb up, says nothing of what stands in that message, which it repeats', (t) => {
  const reactions = [
    'Liked “Hi Ada, this is Example Agency. Reply STOP to end texts.”',
    'Loved “Reply YES to talk, or STOP to get no more messages.”',
    'Laughed at “Example Agency: we write since you asked us for an offer. Reply STOP to get no more messages.”',
    'Emphasized “Not you?\nReply WRONG NUMBER”',
    'Removed a like from “No more messages? Reply STOP”',
    '👍 to “Text STOP to cancel messages”',
    '\u200a\u200b❤️\u200b to “\u200aText STOP to cancel messages\u200a”\u200a',
    'Reacted 😂 to “Text STOP to cancel messages”',
    'Le gustó “Responda ALTO para no recibir más mensajes”',
  ]
  for (const text of reactions) t.is(meaningOf(text, rules, false), 'reply', text)
  t.deepEqual(meanings(true, 'Liked “YES”'), ['reply'])
  t.deepEqual(meanings(false, 'Please “STOP”', 'Liked it. “Stop”', 'I liked “Yes” more. Stop texting me'), [
    'opted_out',
    'opted_out',
    'opted_out',
  ])
})

test('the first rule with one of its words or phrases counts, as whole words only', (t) => {
  t.deepEqual(meanings(false, 'Yes, call me', 'No thanks - yes really', 'yesterday'), [
    'qualified',
    'not_interested',
    'reply',
  ])
  t.deepEqual(meanings(false, 'We moved  away'), ['unqualified'])
})

test('a rule is heard with and without accents, whoever leaves them out', (t) => {
  const spanish = { reply_rules: [{ words: ['sí', 'llameme', 'don’t know'], outcome: 'qualified' }] } as const
  for (const text of ['si', 'Sí', 'SÍ!', 'Llámeme, por favor', 'don´t know', 'dont know']) {
    t.is(meaningOf(text, spanish, false), 'qualified', text)
  }
  t.is(meaningOf('siempre', spanish, false), 'reply')
})

test('START opts in again, and YES does after an opt-out; HELP and INFO ask for help', (t) => {
  t.deepEqual(meanings(true, 'start', 'UNSTOP', 'Yes!'), ['opted_in', 'opted_in', 'opted_in'])
  t.deepEqual(meanings(false, 'yes', 'help', 'INFO?'), ['qualified', 'help', 'help'])
})

test('what the provider marks is that, but an opt-in only after an opt-out', (t) => {
  const marked = (text: string, isOptedOut: boolean, mark: 'opted_out' | 'opted_in' | 'help') =>
    meaningOf(text, rules, isOptedOut, mark)
  t.is(marked('Arret', false, 'opted_out'), 'opted_out')
  t.is(marked('Ayuda', true, 'help'), 'help')
  t.is(marked('Oui', true, 'opted_in'), 'opted_in')
  t.is(marked('Yes', false, 'opted_in'), 'qualified')
  t.is(marked('Hello', false, 'opted_in'), 'reply')
  t.is(marked('START', false, 'opted_in'), 'opted_in')
})

test('a keyword of providers stands alone, in any case', (t) => {
  const keywords = [
    'STOP',
    'stopall',
    'Unsubscribe',
    'CANCEL',
    'end',
    'QUIT',
    'revoke',
    'OptOut',
    'help',
    'INFO',
    ' stop\n',
  ]
  t.deepEqual(
    keywords.filter((text) => !isKeyword(text)),
    [],
  )
  const others = ['opt out', 'ALTO', 'stop texting me', 'please stop', 'STOP!', 'STOP STOP', 'stop\nBob', '']
  t.deepEqual(others.filter(isKeyword), [])
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
