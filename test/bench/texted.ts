import type { AccountId, PlaybookId, SourceId } from '../../domain/ids.js'
import { later, type Instant } from '../../domain/instant.js'
import { lead } from '../../domain/lead.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { playbook } from '../../domain/playbook.js'
import { standardPlaybook, type PlaybookSettings } from '../../domain/playbook-settings.js'
import { collectionOf } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import type { Environment } from '../kit/parts/program.js'
import { startChild, type Child } from './child.js'
import { leadFactsFor } from './lead-facts.js'
import { phoneOf } from './leads.js'
import { seed, startMeasured } from './seed.js'
import { embedded, forEach, openTools, orFail, type Tools } from './tools.js'

/** A store whose leads are written to. */
export type TextedStore = {
  readonly directory: string
  readonly accountId: AccountId
  /** Of its playbook the only message goes out at once, at any hour. */
  readonly prompt: TextedSource
  /** Of its playbook the only message goes out after a day, at any hour. */
  readonly late: TextedSource
}

type TextedSource = { readonly sourceId: SourceId; readonly path: string }

/** Steps that are due: `count` of them from `from` on, spread evenly over so many milliseconds. */
type DueSteps = {
  readonly firstSerial: number
  readonly count: number
  readonly from: Instant
  readonly over: number
}

export const openTextedStore = async (): Promise<TextedStore> => {
  const { directory, accountId } = await seed(0)
  const tools = await openTools(directory)
  const [first, second] = standardPlaybook.steps
  if (first === undefined || second === undefined) throw new Error('the standard playbook has no two steps')
  const prompt = await addSource(tools, accountId, { title: 'At once', steps: [first] })
  const late = await addSource(tools, accountId, { title: 'After a day', steps: [second] })
  await tools.close()
  return { directory, accountId, prompt, late }
}

const addSource = async (
  { run, ids }: Tools,
  accountId: AccountId,
  changed: Pick<PlaybookSettings, 'title' | 'steps'>,
): Promise<TextedSource> => {
  const playbookId: PlaybookId = `ply_${ids.ulid()}`
  const settings = { ...standardPlaybook, ...changed, quiet_hours: null }
  await run(playbook, playbookId, { type: 'CreatePlaybook', playbookId, accountId, settings })
  const sourceId: SourceId = `mks_${ids.ulid()}`
  const { title } = changed
  await run(marketingSource, sourceId, {
    type: 'CreateSource',
    sourceId,
    accountId,
    title,
    playbookId,
    originatorField: null,
  })
  return { sourceId, path: `/marketing_sources/${accountId}/${sourceId}` }
}

/** Leads that were submitted now to a source, whose first steps are due then. */
export const seedSteps = async (
  { directory, accountId }: TextedStore,
  { sourceId }: TextedSource,
  { firstSerial, count, from, over }: DueSteps,
): Promise<void> => {
  const tools = await openTools(directory)
  const factsOf = await leadFactsFor(tools, accountId, sourceId)
  await forEach(count, async (n) => {
    const first_step_at = later(from, Math.floor((over * n) / count))
    const facts = { ...factsOf(firstSerial + n), follow_up: { playbook_version: 1, first_step_at } }
    const { events } = await tools.run(lead, facts.lead_id, { type: 'SubmitLead', facts })
    await tools.reactor.react(events)
  })
  // Built anew at the start, they are there sooner than if they followed what was written beside them.
  for (const projection of readModels) orFail(await tools.documents.drop(collectionOf(projection)))
  await tools.close()
}

/** As a message names it. */
export const numberOf = (serial: number): string => `+1${phoneOf(serial).replace(/\D/g, '')}`

/** A provider of texts on this machine, in a process of its own. */
export const startProvider = (): Promise<Child> => startChild('dist/test/bench/sms-provider.js', {})

/** The setting that names the provider. */
export const smsUrlOf = ({ port }: Child): string =>
  `twilio://AC${'0'.repeat(32)}:token@127.0.0.1:${port}?tls=false&from=%2B14155550100`

/** A service that hands its texts to the provider. */
export const startTexting = ({ directory }: TextedStore, provider: Child): Promise<Child> => {
  const settings: Environment = { SMS_URL: smsUrlOf(provider), PUBLIC_URL: 'http://127.0.0.1:9' }
  return startMeasured(directory, embedded, settings)
}
