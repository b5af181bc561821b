import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { instantOf } from '../../domain/instant.js'
import { standardPlaybook } from '../../domain/playbook-settings.js'
import { contactShards } from '../../projections/read-models/contact-shards.js'
import { arrivals, arrivalsAt } from './arrivals.js'
import type { Child } from './child.js'
import { median } from './summary.js'
import { openTextedStore, seedSteps, smsUrlOf, startProvider, startTexting } from './texted.js'

/** Steps a second. */
type StepRate = { readonly ours: number; readonly theirs: number }

/** As many messages as a worker sends at a time. */
const concurrency = 16 * contactShards.names.length

/** In milliseconds: so that the service runs before they are due. */
const untilDue = 45_000

/**
 * First messages that are due, from the first to the last at the provider, beside bare calls of the messenger to the
 * same provider with as many open requests. First ones, all due at one time, since what is late goes out at a pace of
 * its own.
 */
export const measureSteps = async (rounds: number, count: number): Promise<StepRate> => {
  const provider = await startProvider()
  const store = await openTextedStore()
  const ours: Array<number> = []
  const theirs: Array<number> = []
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const bare = await bareRate(provider, count)
      const due = { firstSerial: round * count, count, from: instantOf(Date.now() + untilDue), over: 0 }
      await seedSteps(store, store.prompt, due)
      await arrivalsAt(provider)
      const service = await startTexting(store, provider)
      const sent = await arrivals(provider, count)
      await service.stop()
      // The first round warms up the disk and the provider.
      if (round === 0) continue
      theirs.push(bare)
      ours.push(count / (((sent.at(-1)?.[1] ?? 0) - (sent[0]?.[1] ?? 0)) / 1_000))
    }
  } finally {
    await provider.stop()
    rmSync(store.directory, { recursive: true, force: true })
  }
  return { ours: median(ours), theirs: median(theirs) }
}

const bareRate = async (provider: Child, count: number): Promise<number> => {
  const settings = { SMS_URL: smsUrlOf(provider), COUNT: String(count), CONCURRENCY: String(concurrency) }
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/test/bench/bare-messenger.js'], {
    env: { ...settings, TEXT: standardPlaybook.steps[0]?.message ?? '' },
  })
  return Number(stdout)
}
