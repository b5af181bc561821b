import test from 'ava'
import { messagesSurface, type MessagesPorts } from '../../../app/messaging/surface.js'
import { E, TE } from '../../../domain/prelude.js'
import type { TextProvider } from '../../../domain/text-provider.js'

test('a provider posts to paths under its own name, and shows who it is in its own way', async (t) => {
  const unplaced: Array<string> = []
  const signed: Array<string> = []
  const courier: TextProvider = {
    ...{ name: 'courier', timeLimit: 15_000, answersKeywords: false, sharedSender: 'desk' },
    isSigned: (path, _form, header) => {
      signed.push(path)
      return header('x-courier-seal') === 'wax'
    },
    reportFrom: () => E.right({ providerId: 'one', kind: 'delivered' }),
    textFrom: () =>
      E.right({ providerId: 'two', from: 'nobody', to: ['desk'], poolOfTo: undefined, text: 'Yes', mark: undefined }),
  }
  const ports = { unplaced: (what: string) => void unplaced.push(what) } as unknown as MessagesPorts
  const { prefix, endpoints } = messagesSurface(ports, courier)
  const post = (path: string, headers: Readonly<Record<string, string>>) => {
    const request = {
      ...{ method: 'POST', params: { message_id: 'other' }, query: () => undefined, queryNames: () => [], body: {} },
      header: (name: string) => headers[name],
    }
    return endpoints
      .find((endpoint) => `${prefix}${endpoint.path}` === path)
      ?.handle(TE.right({ request, caller: undefined }))()
  }

  for (const path of ['/messaging/courier/status/:message_id', '/messaging/courier/inbound']) {
    t.like(await post(path, { 'x-courier-seal': 'wax' }), { right: { status: 204 } }, path)
    t.like(await post(path, { 'x-other-seal': 'wax' }), { left: { kind: 'forbidden' } }, path)
  }
  t.deepEqual(unplaced, ['report', 'text'])
  const [status, inbound] = ['/messaging/courier/status/other', '/messaging/courier/inbound']
  t.deepEqual(signed, [status, status, inbound, inbound])
})
