import { randomFrom, type Random } from '../load.js'
import { webhookId } from '../samples.js'
import { addWebhook, changeWebhook, recordActivity, submitLead } from './commands.js'
import type { Answer } from './receivers.js'
import { openSimulation, type Command, type History } from './simulation.js'

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** Longer than all the retries of a delivery take together. */
export const untilAllIsOver = 5 * day

const labels = ['interested', 'phone_call_started', 'phone_call_missed', 'phone_call_completed'] as const
const names = ['Ada', 'Grace', 'Mary'] as const

/** How often a receiver fails, and how many milliseconds it takes at most. */
type Mood = { readonly fails: number; readonly takes: number }

/** Some days of a service, drawn by lot: leads, activities, receivers that fail or are slow, and crashes where they are wanted. */
export const eventfulDays = async (seed: number, crashes: boolean): Promise<History> => {
  const random = randomFrom(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const oneOf = <A>(all: readonly [A, ...ReadonlyArray<A>]): A => all[below(all.length)] ?? all[0]
  const upTo = (most: number): ReadonlyArray<number> => Array.from({ length: 1 + below(most) }, (_, index) => index)

  const moods = new Map(
    [1, 2, 3].map((n): [string, Mood] => [
      webhookId(n),
      { fails: oneOf([0, 0.3, 0.8, 1]), takes: oneOf([30, 2 * second, 6 * second]) },
    ]),
  )
  const simulation = openSimulation({
    seed,
    answer: (webhook) => answerOf(moods.get(webhook) ?? { fails: 0, takes: 1 }, random),
    slowest: oneOf([1, 20, 400]),
    unsaved: oneOf([1n, 10n, 500n]),
    longestAway: oneOf([5 * second, hour]),
  })
  let leads = 0

  const lead = (): Command => {
    leads += 1
    return submitLead(leads, 1 + below(3), oneOf(names))
  }
  const act = async (): Promise<void> => {
    switch (oneOf(['lead', 'activities', 'activities', 'change', 'opt out', 'crash', 'crash at a step'])) {
      case 'lead':
        return simulation.ask(...upTo(3).map(lead))
      case 'activities': {
        const conversation = 1 + below(leads)
        return simulation.ask(...upTo(10).map(() => recordActivity(conversation, oneOf(labels))))
      }
      case 'change':
        return simulation.ask(changeWebhook(1 + below(2), { events: oneOf([[], ['interested'], [...labels]]) }))
      case 'opt out':
        return simulation.ask(recordActivity(1 + below(leads), 'opted_out'))
      case 'crash':
        if (crashes) simulation.crash()
        return
      case 'crash at a step':
        if (crashes) simulation.crashAt(1 + below(60))
        return
    }
  }

  await simulation.ask(addWebhook(1), addWebhook(2), lead())
  for (let acts = 0; acts < 16; acts += 1) {
    await act()
    if (acts === 6) await simulation.ask(addWebhook(3, { format: 'flat' }))
    await simulation.pass(oneOf([0, 0, 5, 800, 20 * second, hour, day]))
  }
  // What came to its end stays as it is, whatever is looked at once more.
  await simulation.pass(untilAllIsOver)
  if (crashes) simulation.crash()
  await simulation.ask(recordActivity(1, 'interested'))
  simulation.crashNoMore()
  await simulation.pass(untilAllIsOver)
  return simulation.history()
}

const answerOf = ({ fails, takes }: Mood, random: Random): Answer => {
  const isFailure = random() < fails
  const status = isFailure ? (random() < 0.5 ? 503 : null) : 200
  return { status, takes: 1 + Math.floor(random() * takes) }
}
