import test from 'ava'
import { fromAddress } from '../../../app/composition/outgoing/mail.js'

test('mail comes from the user at the server, else from the site', (t) => {
  const publicUrl = 'https://leads.example.com/base'
  const from = (smtpUrl?: string, site: string | undefined = publicUrl): string =>
    fromAddress({ smtpUrl, publicUrl: site })
  t.is(from('smtp://ada%40example.org:word@mail.example.com'), 'ada@example.org')
  t.is(from('smtp://ada:word@mail.example.com'), 'leadloop@leads.example.com')
  t.is(from(), 'leadloop@leads.example.com')
  t.is(fromAddress({ smtpUrl: undefined, publicUrl: undefined }), 'leadloop@localhost')
  t.is(from(undefined, 'http://[::1]:8080'), 'leadloop@localhost')
  t.is(from(undefined, 'http://192.0.2.7'), 'leadloop@localhost')
})
