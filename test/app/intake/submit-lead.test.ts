import test from 'ava'
import assert from 'node:assert/strict'
import { randomIds } from '../../../adapters/node/ids.js'
import type { ClientCommands } from '../../../app/commands/client-commands.js'
import { reactionChains } from '../../../app/commands/reactions/reaction-chains.js'
import type { AcceptingSource } from '../../../app/intake/accepting-source.js'
import { submitLead } from '../../../app/intake/submit-lead.js'
import { contact } from '../../../domain/contact.js'
import { erasureIdOf, type AccountSecret } from '../../../domain/derived-id.js'
import type { ContactId } from '../../../domain/ids.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import { E, TE } from '../../../domain/prelude.js'
import { accountId, playbookId, sourceId } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const caller: AcceptingSource = {
  source: {
    kind: 'created',
    ...{ sourceId: sourceId(), accountId: accountId(), title: 'Search ads', playbookId: playbookId() },
    ...{ originatorField: null, suspended: false, limitPerMinute: null },
  },
  ...{ secret: Buffer.from('secret') as AccountSecret, hasErasures: true, consentHosts: null, sender: null },
  playbook: {
    kind: 'created',
    ...{ accountId: accountId(), used: true, deleted: false, version: 1 },
    settings: { ...defaultSettings, required_fields: [], steps: [] },
  },
}

/** The endpoint, where nothing takes away what a contact that is closed has left. */
const openStage = () => {
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(memoryEventStore(memoryLog()), clock)
  const execute: ClientCommands['execute'] = async (decider, id, command, actor) => {
    const done = await commandHandler.execute(decider, id, command, { actor, eventId: ids.uuid })
    if (E.isLeft(done)) return done
    assert.ok(E.isRight(await reactionChains().carryOutAll(commandHandler, done.right.events)))
    return E.right({ ...done.right, isPending: false })
  }
  const senderOptOuts = { includes: () => Promise.resolve(E.right(false)) }
  const ports = { commandHandler, clientCommands: { execute }, ids, clock, verifiesConsents: false, senderOptOuts }
  const consent = { tcpa_opt_in_token: 'consent-1', tcpa_opt_in_url: 'https://consent.example/1' }
  const body = { phone: '415-555-0123', lead_id: 'L-1', ...consent }
  const request = { method: 'POST', params: {}, query: () => undefined, queryNames: () => [], body }
  return {
    /** Submits a lead with an originator. */
    submit: async (key?: string) => {
      const call = TE.right({ request: { ...request, header: () => key }, caller })
      return rightOf(await submitLead(ports)(call)()).body as {
        readonly lead_id: string
        readonly contact_id: ContactId
      }
    },
    close: async (contactId: ContactId) => {
      const command = { type: 'EraseContact', contactId, erasureId: erasureIdOf(contactId), optHistory: [] } as const
      rightOf(await execute(contact, contactId, command, 'eraser'))
    },
  }
}

for (const key of [undefined, 'a new key'])
  test(`an originator makes a new lead while that of a contact which is being erased still stands, ${key === undefined ? 'without' : 'with'} an idempotency key`, async (t) => {
    const { submit, close } = openStage()
    const first = await submit()
    t.deepEqual(await submit(), first)
    await close(first.contact_id)
    const next = await submit(key)
    t.not(next.lead_id, first.lead_id)
    t.not(next.contact_id, first.contact_id)
    t.deepEqual(await submit(key), next)
    t.deepEqual(await submit(), next)
  })
