import { rmSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { instantOf } from '../../domain/instant.js'
import { sleep } from '../kit/time/until.js'
import { arrivalsAt } from './arrivals.js'
import type { Child } from './child.js'
import { openLoop } from './http-load.js'
import { leadRequest } from './leads.js'
import { caughtUp } from './seed.js'
import { summaryOf, type Summary } from './summary.js'
import { numberOf, openTextedStore, seedSteps, startProvider, startTexting, type TextedStore } from './texted.js'

type SpeedLoad = {
  readonly perSecond: number
  readonly seconds: number
  /** Steps of other leads that come due in these seconds. */
  readonly steps: number
}

type SpeedToLead = {
  readonly latency: Summary
  /** Of the others, handed to the messenger while the leads came. */
  readonly stepsPerSecond: number
}

const warmUpSeconds = 2
const firstLead = 3_000_000

/** Leads whose seeding tells how long that of all takes. */
const sample = 1_000
const firstOfSample = 2_000_000

/** Milliseconds for a start, and so long that a step which is due after them counts as no first message. */
const leastUntilDue = 75_000

/** Milliseconds after the last lead until whose message must have come. */
const longestWait = 120_000

/**
 * From the 200 of a submission to its first message at the provider, at a steady rate. The service calls its Twilio
 * adapter, and a server on this machine, which takes everything, notes when a request has come: so the time of
 * connecting and sending counts too.
 */
export const measureSpeedToLead = async ({ perSecond, seconds, steps }: SpeedLoad): Promise<SpeedToLead> => {
  const provider = await startProvider()
  const store = await openTextedStore()
  try {
    const begins = steps === 0 ? Date.now() : Date.now() + (await timeToSeed(store, steps))
    await seedSteps(store, store.late, { firstSerial: 0, count: steps, from: instantOf(begins), over: seconds * 1_000 })
    const service = await startTexting(store, provider)
    await caughtUp(service)
    const warmUpBegins = begins - warmUpSeconds * 1_000
    if (steps > 0 && Date.now() > warmUpBegins) throw new Error('steps were due before the service was ready')
    if (steps > 0) await sleep(warmUpBegins - Date.now())

    const sent: Array<number> = []
    const lead = leadRequest(store.prompt.path)
    const request = (serial: number): string => {
      sent.push(performance.timeOrigin + performance.now())
      return lead(serial)
    }
    const warmUp = perSecond * warmUpSeconds
    const load = { port: service.port, connections: 16, request, expectedStatus: 200 }
    const durations = await openLoop(load, perSecond, warmUp + perSecond * seconds, firstLead)
    const numbers = new Set(sent.map((_, n) => numberOf(firstLead + n)))
    const { ofLeads, others } = await messagesAt(provider, numbers)
    await service.stop()

    const answered = sent.map((at, n) => at + (durations[n] ?? Number.NaN))
    const latencies = answered.map((at, n) => (ofLeads.get(numberOf(firstLead + n)) ?? Number.NaN) - at)
    const [first, last] = [sent[warmUp] ?? Number.NaN, sent.at(-1) ?? Number.NaN]
    return {
      latency: summaryOf(latencies.slice(warmUp), seconds),
      stepsPerSecond: others.filter((at) => at >= first && at <= last).length / seconds,
    }
  } finally {
    await provider.stop()
    rmSync(store.directory, { recursive: true, force: true })
  }
}

/** Milliseconds until so many leads are seeded and the read models show them, at the speed that the machine has now. */
const timeToSeed = async (store: TextedStore, steps: number): Promise<number> => {
  const begun = performance.now()
  const tomorrow = instantOf(Date.now() + 24 * 60 * 60_000)
  await seedSteps(store, store.late, { firstSerial: firstOfSample, count: sample, from: tomorrow, over: 0 })
  const each = (performance.now() - begun) / sample
  return leastUntilDue + 2 * each * steps
}

type Messages = {
  readonly ofLeads: ReadonlyMap<string, number>
  /** When those to other numbers came. */
  readonly others: ReadonlyArray<number>
}

/** What came until each of the numbers had its message. */
const messagesAt = async (provider: Child, numbers: ReadonlySet<string>): Promise<Messages> => {
  const late = performance.now() + longestWait
  const ofLeads = new Map<string, number>()
  const others: Array<number> = []
  for (;;) {
    for (const [number, at] of await arrivalsAt(provider)) {
      if (numbers.has(number)) ofLeads.set(number, at)
      else others.push(at)
    }
    if (ofLeads.size === numbers.size) return { ofLeads, others }
    if (performance.now() > late) throw new Error(`only ${ofLeads.size} of ${numbers.size} leads were written to`)
    await sleep(200)
  }
}
