import test from 'ava'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { inboundEndpoint, type InboundPorts } from '../../../app/messaging/inbound.js'
import type { TextProvider } from '../../../domain/text-provider.js'
import { positionOf, type Position } from '../../../domain/event.js'
import { contact } from '../../../domain/contact.js'
import { contactIdOf, senderOptOutIdOf } from '../../../domain/derived-id.js'
import type { ContactId } from '../../../domain/ids.js'
import { playbook } from '../../../domain/playbook.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, TE, type Either } from '../../../domain/prelude.js'
import { senderOptOut } from '../../../domain/sender-opt-out.js'
import { playbookVersions } from '../../../projections/from-streams/playbook-versions.js'
import { openAccountState } from '../../kit/domain/account-state.js'
import { accountId, at, details, engagementId, leadId, phone, playbookId, sourceId } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { openMessagingStage } from './messaging-stage.js'

const to = '+14155550100'

type Get = InboundPorts['currentStates']['get']

/**
 * `accounts`: those that have a marketing source, as they are read. `names`: what the provider calls the sender.
 * `process`: how many records it makes before it dies. `known`: contacts that are shown.
 */
const openInboundStage = async (
  accounts: Readonly<Record<string, Either<StoreFailure, unknown>>> = {},
  names: ReadonlyArray<string> = [to],
  process = { recordsLeft: Infinity },
  known: ReadonlyArray<ContactId> = [],
) => {
  const stage = await openMessagingStage()
  const execute: ClientCommands['execute'] = (...args) => {
    process.recordsLeft -= 1
    return process.recordsLeft < 0
      ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'the process died' } as const))
      : stage.clientCommands.execute(...args)
  }
  const nothing = () => Promise.resolve(E.right([]))
  const shown: { position: Position; failure: string | undefined } = { position: positionOf(0n), failure: undefined }
  const unplaced: Array<string> = []
  const ports: InboundPorts = {
    ...stage,
    clientCommands: { execute },
    currentStates: { get: ((_decider, id) => Promise.resolve(accounts[id])) as Get },
    queries: {
      byKeys: () => Promise.resolve(E.right(known.map((id) => ({ id })) as never)),
      values: () => Promise.resolve(E.right(Object.keys(accounts))),
      page: nothing,
    },
    vault: plainVault,
    playbookAt: playbookVersions(stage.store),
    // Whoever waits waits too long.
    monotonic: { sleep: () => Promise.resolve() },
    readModelFollowers: [
      {
        caughtUpTo: () => new Promise(() => undefined),
        position: () => Promise.resolve(shown.position),
        failure: () => shown.failure,
      },
    ],
    unplaced: (what) => void unplaced.push(what),
  }
  const provider: TextProvider = {
    ...{ name: 'provider', timeLimit: 15_000, answersKeywords: true, sharedSender: to },
    isSigned: () => true,
    reportFrom: () => E.left([]),
    textFrom: (form) =>
      E.right({
        ...{ providerId: form.get('id') ?? '', from: phone(), text: form.get('text') ?? '' },
        ...{ to: names, poolOfTo: undefined, mark: undefined },
      }),
  }
  const { handle } = inboundEndpoint(ports, provider)
  return {
    shown,
    unplaced,
    head: stage.store.head,
    told: stage.logger.lines,
    execute: stage.clientCommands.execute,
    reactToAll: stage.reactToAll,
    stateOf: async (id: ContactId) => rightOf(await stage.commandHandler.load(contact, id)).state,
    isOptedOutOf: async (name: string) => {
      const id = senderOptOutIdOf(plainVault.serviceSecret, name, phone())
      return rightOf(await stage.commandHandler.load(senderOptOut, id)).state.optedOut
    },
    write: (id: string, text: string) => {
      const request = {
        method: 'POST',
        params: {},
        query: () => undefined,
        queryNames: () => [],
        header: () => undefined,
        body: { id, text },
      }
      return handle(TE.right({ request, caller: undefined }))()
    },
  }
}

test('a text that came before read models show the newest messages is not thrown away: the provider is to send it again', async (t) => {
  const { shown, unplaced, head, write } = await openInboundStage()
  t.like(await write('one', 'How much?'), { left: { kind: 'unavailable' } })
  t.like(await write('two', 'Yes'), { left: { kind: 'unavailable' } })
  t.deepEqual(unplaced, [])
  const newest = await head()
  t.true(E.isRight(newest))
  shown.position = E.isRight(newest) ? newest.right : shown.position
  t.like(await write('one', 'How much?'), { right: { status: 204 } })
  t.deepEqual(unplaced, ['text'], 'nobody wrote to the number')
})

test('where a read model has stopped a text goes by what it shows', async (t) => {
  const { shown, unplaced, write } = await openInboundStage()
  shown.failure = 'it can not be folded'
  t.like(await write('one', 'How much?'), { right: { status: 204 } })
  t.deepEqual(unplaced, ['text'])
})

test('an opt-out waits for no read model', async (t) => {
  const { write } = await openInboundStage()
  t.like(await write('one', 'STOP'), { right: { status: 204 } })
  t.like(await write('two', 'START'), { right: { status: 204 } })
  t.like(await write('three', 'STOP'), { right: { status: 204 } })
  t.like(await write('two', 'START'), { right: { status: 204 } }, 'nor does an opt-in that comes again after it')
})

test('a text that was recorded for one name of its sender alone is ignored when it is repeated after its opposite', async (t) => {
  for (const [halfway, whole, isOut] of [
    ['START', 'STOP', true],
    ['STOP', 'START', false],
  ] as const) {
    const names = [to, 'a service']
    const process = { recordsLeft: 1 }
    const { isOptedOutOf, shown, head, write } = await openInboundStage({}, names, process)
    shown.position = rightOf(await head())
    t.like(await write('one', halfway), { left: { kind: 'unavailable' } })
    process.recordsLeft = Infinity
    for (const [id, text] of [
      ['two', whole],
      ['one', halfway],
    ] as const) {
      shown.position = rightOf(await head())
      t.like(await write(id, text), { right: { status: 204 } })
    }
    t.deepEqual(await Promise.all(names.map(isOptedOutOf)), [isOut, isOut])
  }
})

test('an account that can not be read keeps no opt-out from another, and is named in the log', async (t) => {
  const unreadable = E.left({ kind: 'corrupt', reason: 'AccountOpened can not be decoded' } as const)
  const open = openAccountState({ accountId: accountId(2), sealedSecret: 'secret' })
  const { told, stateOf, write } = await openInboundStage({ [accountId(1)]: unreadable, [accountId(2)]: E.right(open) })
  t.like(await write('one', 'STOP'), { right: { status: 204 } })
  const secret = rightOf(plainVault.accountSecret('secret'))
  t.deepEqual(await stateOf(contactIdOf(secret, phone())), { kind: 'unknown', optedOut: true })
  t.like(told, [{ level: 'error', fields: { account: accountId(1) } }])
})

test('an opt-out that broke off between two accounts of its sender is still confirmed by the one that was to do so', async (t) => {
  const numbers = [1, 2]
  const secretOf = (n: number): string => `secret ${n}`
  const accounts = Object.fromEntries(
    numbers.map((n) => {
      return [accountId(n), E.right(openAccountState({ accountId: accountId(n), sealedSecret: secretOf(n) }))]
    }),
  )
  const contacts = numbers.map((n) => contactIdOf(rightOf(plainVault.accountSecret(secretOf(n))), phone()))
  const process = { recordsLeft: Infinity }
  const { execute, reactToAll, write } = await openInboundStage(accounts, [to], process, contacts)
  for (const [index, contactId] of contacts.entries()) {
    const n = index + 1
    const ids = { playbookId: playbookId(n), accountId: accountId(n) }
    rightOf(
      await execute(playbook, playbookId(n), { type: 'CreatePlaybook', ...ids, settings: defaultSettings }, 'test'),
    )
    const lead = { leadId: leadId(n + 1), engagementId: engagementId(n + 1), sourceId: sourceId(n), sourceTitle: 'Ads' }
    const engage = { type: 'EngageLead', ...ids, ...lead, contactId, details: details(), submittedAt: at() } as const
    rightOf(await execute(contact, contactId, engage, 'test'))
  }
  await reactToAll()

  // At the sender, and for the first of the two.
  process.recordsLeft = 2
  t.like(await write('one', 'Stop texting me'), { left: { kind: 'unavailable' } })
  process.recordsLeft = Infinity
  t.like(await write('one', 'Stop texting me'), { right: { status: 204 } })
  const received = (await reactToAll()).flatMap((event) => (event.type === 'MessageReceived' ? [event.data] : []))
  t.deepEqual(
    received.map(({ account_id, answer }) => [account_id, answer]),
    [
      [accountId(1), 'confirmation'],
      [accountId(2), undefined],
    ],
  )
})
