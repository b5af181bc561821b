import test from 'ava'
import { twilioAccountFrom } from '../../../adapters/twilio/url.js'
import { E } from '../../../domain/prelude.js'
import { service } from '../../twilio-double/double.js'
import { messageOf } from '../../contracts/messenger.js'
import { stageFor } from './stage.js'

const sid = `AC${'1'.repeat(32)}`
const from = 'from=%2B14155550100'

test('a URL names the account, its token, the sender and the server', (t) => {
  const account = { accountSid: sid, authToken: 's3cret/:@', sender: '+14155550100' }
  const url = `twilio://${sid}:s3cret%2F%3A%40@api.twilio.com?${from}`
  t.deepEqual(twilioAccountFrom(url), E.right({ ...account, baseUrl: 'https://api.twilio.com' }))
  t.deepEqual(twilioAccountFrom(`${url}&tls=true`), E.right({ ...account, baseUrl: 'https://api.twilio.com' }))
  const here = `twilio://${sid}:s3cret%2F%3A%40@127.0.0.1:4010/?from=${service}&tls=false`
  t.deepEqual(twilioAccountFrom(here), E.right({ ...account, sender: service, baseUrl: 'http://127.0.0.1:4010' }))
})

test('a double on this machine is reached by its URL alone', async (t) => {
  const { double, messengerFor } = await stageFor(t)
  const account = twilioAccountFrom(`${double.url}%2B14155550100`)
  if (E.isLeft(account)) throw new Error(account.left)
  t.is((await messengerFor(account.right).send(messageOf())).kind, 'accepted')
})

test('a URL that is wrong is answered with the part that is, and never with the token', (t) => {
  const problems: Readonly<Record<string, RegExp>> = {
    '': /a URL like/,
    [`https://${sid}:s3cret@api.twilio.com?${from}`]: /a URL like/,
    [`twilio:///?${from}`]: /a URL like/,
    [`twilio://s3cret:s3cret@api.twilio.com?${from}`]: /account SID/,
    [`twilio://api.twilio.com?${from}`]: /account SID/,
    [`twilio://${sid}@api.twilio.com?${from}`]: /token/,
    [`twilio://${sid}:s3cret%ff@api.twilio.com?${from}`]: /token/,
    [`twilio://${sid}:s3cret@api.twilio.com/2010?${from}`]: /after its host/,
    [`twilio://${sid}:s3cret@api.twilio.com?${from}#s3cret`]: /after its host/,
    [`twilio://${sid}:s3cret@api.twilio.com?${from}&region=ie1`]: /but from and tls/,
    [`twilio://${sid}:s3cret@api.twilio.com?${from}&${from}`]: /once/,
    [`twilio://${sid}:s3cret@api.twilio.com`]: /in from/,
    [`twilio://${sid}:s3cret@api.twilio.com?from=+14155550100`]: /in from/,
    [`twilio://${sid}:s3cret@api.twilio.com?from=MG1`]: /in from/,
    [`twilio://${sid}:s3cret@api.twilio.com?${from}&tls=no`]: /in tls/,
    [`twilio://${sid}:s3cret@api.twilio.com?${from}&tls=false`]: /on this machine/,
  }
  for (const [url, problem] of Object.entries(problems)) {
    const read = twilioAccountFrom(url)
    const sentence = E.isLeft(read) ? read.left : 'it was taken'
    t.regex(sentence, problem, url)
    t.regex(sentence, /^SMS_URL .*\.$/, url)
    t.notRegex(sentence, /s3cret/, url)
  }
})
