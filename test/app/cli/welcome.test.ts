import test from 'ava'
import { welcome } from '../../../app/cli/welcome.js'
import { roles, type ProcessRole } from '../../../app/composition/config.js'

const started = {
  address: 'http://127.0.0.1:8080',
  siteUrl: 'http://127.0.0.1:8080',
  newOperatorKey: undefined,
  firstAccount: undefined,
}

const [eventStoreUrl, mongoUrl] = ['esdb://ada:pass-word@events:2113', 'mongodb://ada:pass-word@documents/leadloop']

type Urls = { readonly eventStoreUrl?: string; readonly mongoUrl?: string }

const saidWith = (urls: Urls, own: ReadonlyArray<ProcessRole> = roles): ReadonlyArray<string> =>
  welcome(started, {
    dataDir: '/data',
    eventStoreUrl: urls.eventStoreUrl,
    mongoUrl: urls.mongoUrl,
    roles: new Set(own),
  }).split('\n')

test('a start says where the events and the read models are, without a password', (t) => {
  const stores = (urls: Urls): string | undefined => saidWith(urls)[0]?.replace(/^.+8080 and stores /, '')
  t.is(stores({}), 'its data in /data.')
  t.is(stores({ eventStoreUrl, mongoUrl }), 'its events in EventStoreDB and its read models in MongoDB.')
  t.is(stores({ eventStoreUrl }), 'its events in EventStoreDB and its read models in /data.')
  t.is(stores({ mongoUrl }), 'its events in /data and its read models in MongoDB.')
})

test('a start shows the lines of curl only where they are answered', (t) => {
  const [, ofApi] = saidWith({ eventStoreUrl, mongoUrl }, ['api'])
  t.regex(ofApi ?? '', /^Three lines of curl /)
  const [, ...ofOthers] = saidWith({ eventStoreUrl, mongoUrl }, ['projector', 'delivery'])
  t.deepEqual(ofOthers, ['It answers /health and /metrics, and takes no requests: its ROLES lack api.'])
})
