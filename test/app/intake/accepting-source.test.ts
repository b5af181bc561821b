import test from 'ava'
import { rateLimit } from '../../../app/http/rate-limit.js'
import { acceptingSourceOf } from '../../../app/intake/accepting-source.js'
import type { CurrentStates } from '../../../app/commands/states/current-states.js'
import { defaultSettings } from '../../../domain/playbook-settings.js'
import { E, TE } from '../../../domain/prelude.js'
import { openAccountState } from '../../kit/domain/account-state.js'
import { accountId, playbookId, sourceId } from '../../kit/domain/samples.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { manualClock } from '../../kit/time/manual-clock.js'

/** What is known here of a source, its account and its playbook, and what another process has just made of it. */
type Known = { readonly outdated: unknown; readonly now: unknown }

const source = (suspended: boolean) => ({
  kind: 'created',
  ...{ sourceId: sourceId(), accountId: accountId(), title: 'Search ads', playbookId: playbookId() },
  ...{ originatorField: null, suspended, limitPerMinute: null },
})
const playbook = {
  kind: 'created',
  ...{ accountId: accountId(), used: true, deleted: false, version: 1, settings: defaultSettings },
}

test('a source that another process has just made, or goes on with, takes leads, and so it does of an account just enabled', async (t) => {
  const unknown = { kind: 'unknown' }
  const open = openAccountState()
  const disabled = openAccountState({ enabled: false })
  const cases: ReadonlyArray<Readonly<Record<string, unknown>>> = [
    { marketing_source: unknown, account: open, playbook },
    { marketing_source: source(true), account: open, playbook },
    { marketing_source: source(false), account: disabled, playbook },
    { marketing_source: source(false), account: unknown, playbook: unknown },
  ]
  for (const outdated of cases) {
    const now: Readonly<Record<string, unknown>> = { marketing_source: source(false), account: open, playbook }
    const get = (({ category }, _id, isAcceptable) => {
      const known: Known = { outdated: outdated[category], now: now[category] }
      return Promise.resolve(E.right(isAcceptable(known.outdated as never) ? known.outdated : known.now))
    }) as CurrentStates['get']
    const request = {
      ...{ method: 'POST', params: { account_id: accountId(), source_id: sourceId() } },
      ...{ query: () => undefined, queryNames: () => [], header: () => undefined, body: {} },
    }
    const ports = { currentStates: { get }, vault: plainVault, rateLimit: rateLimit(manualClock()) }
    t.like(await acceptingSourceOf(ports)(TE.right({ request }))(), { right: { source: source(false) } })
  }
})
