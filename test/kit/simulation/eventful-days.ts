import type { DeliveryId } from '../../../domain/ids.js'
import { instantOf, later, millisecondsOf } from '../../../domain/instant.js'
import { randomFrom, type Random } from '../load/random.js'
import { at, webhookId } from '../domain/samples.js'
import {
  addWebhook,
  cancelResend,
  changeWebhook,
  recordActivity,
  removeWebhook,
  resendOne,
  startResend,
  submitLead,
  turnOn,
} from './commands.js'
import type { Answer } from './receivers.js'
import { openSimulation, type Command, type History } from './simulation.js'

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

/** In milliseconds: longer than all retries of a delivery together, and than a process stays away after a crash. */
export const untilAllIsOver = 7 * day

const labels = ['interested', 'phone_call_started', 'phone_call_missed', 'phone_call_completed'] as const
const names = ['Ada', 'Grace', 'Mary'] as const
const numbers = [1, 2, 3] as const

/** How often a receiver fails, between 0 and 1, and how many milliseconds it takes at most. */
type Mood = { readonly fails: number; readonly takes: number }

const acts = [
  'lead',
  'activities',
  'activities',
  'opt out',
  'change',
  'turn on',
  'turn on',
  'resend one',
  'resend many',
  'cancel',
  'remove',
  'mood',
  'mood',
  'crash',
  'crash at a step',
  'crash at a step',
] as const

/**
 * Some weeks of a service, drawn at random by a seed: leads, activities, receivers that fail, are slow and recover,
 * people who turn webhooks on and have deliveries resent, and, where they are wanted, crashes.
 */
export const eventfulDays = async (seed: number, crashes: boolean): Promise<History> => {
  const random = randomFrom(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const oneOf = <A>(all: readonly [A, ...ReadonlyArray<A>]): A => all[below(all.length)] ?? all[0]
  const upTo = (most: number): ReadonlyArray<number> => Array.from({ length: 1 + below(most) }, (_, index) => index)
  const mood = (): Mood => ({ fails: oneOf([0, 0.3, 0.8, 1, 1]), takes: oneOf([30, 2 * second, 6 * second]) })

  const moods = new Map(numbers.map((n): [string, Mood] => [webhookId(n), mood()]))
  const simulation = openSimulation({
    seed,
    answer: (webhook) => answerOf(moods.get(webhook) ?? { fails: 0, takes: 1 }, random),
    slowest: oneOf([1, 20, 400]),
    unsaved: oneOf([1n, 10n, 500n]),
    longestAway: oneOf([5 * second, hour, 2 * day]),
    losesDocuments: seed % 3 === 0,
  })
  let leads = 0
  let choices = 0
  const resends: Array<{ readonly n: number; readonly to: number }> = []

  const lead = (): Command => {
    leads += 1
    return submitLead(leads, 1 + below(3), oneOf(names))
  }
  const turnOnOne = (n: number): Command => {
    choices += 1
    return turnOn(n, random() < 0.6, `somebody ${choices}`)
  }
  const deliveries = (): ReadonlyArray<DeliveryId> =>
    simulation.log().flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.delivery_id] : []))

  const act = async (): Promise<void> => {
    switch (oneOf(acts)) {
      case 'lead':
        return simulation.ask(...upTo(3).map(lead))
      case 'activities': {
        const conversation = 1 + below(leads)
        return simulation.ask(...upTo(10).map(() => recordActivity(conversation, oneOf(labels))))
      }
      case 'change':
        return simulation.ask(
          random() < 0.5
            ? changeWebhook(oneOf(numbers), { events: oneOf([[], ['interested'], [...labels]]) })
            : changeWebhook(oneOf(numbers), { format: oneOf(['agent', 'flat']) }),
        )
      case 'opt out':
        return simulation.ask(recordActivity(1 + below(leads), 'opted_out'))
      case 'turn on':
        return simulation.ask(turnOnOne(oneOf(numbers)))
      case 'resend one': {
        const known = deliveries()
        return simulation.ask(
          ...known
            .slice(below(known.length))
            .slice(0, 1 + below(3))
            .map(resendOne),
        )
      }
      case 'resend many': {
        const one = { n: resends.length + 1, to: oneOf(numbers) }
        resends.push(one)
        const began = at()
        const now = millisecondsOf(simulation.log().at(-1)?.time ?? began)
        const from = oneOf([began, instantOf(now - 5 * day), later(began, below(now - millisecondsOf(began) + 1))])
        return simulation.ask(startResend(one.n, one.to, from))
      }
      case 'cancel': {
        const last = resends.at(-1)
        return last === undefined ? undefined : simulation.ask(cancelResend(last.n, last.to))
      }
      case 'remove':
        return below(5) > 0 ? undefined : simulation.ask(removeWebhook(oneOf(numbers)))
      case 'mood':
        moods.set(webhookId(oneOf(numbers)), mood())
        return
      case 'crash':
        if (crashes) simulation.crash()
        return
      case 'crash at a step':
        if (crashes) simulation.crashAt(1 + below(60))
        return
    }
  }

  await simulation.ask(addWebhook(1), addWebhook(2), lead())
  for (let count = 0; count < 24; count += 1) {
    await act()
    if (count === 6) await simulation.ask(addWebhook(3, { format: 'flat' }))
    await simulation.advance(oneOf([0, 0, 5, 800, 20 * second, hour, day, untilAllIsOver]))
  }
  // A crash now makes followers handle events again: what came to its end must stay as it is.
  await simulation.advance(untilAllIsOver)
  if (crashes) simulation.crash()
  await simulation.ask(recordActivity(1, 'interested'), turnOnOne(oneOf(numbers)), turnOnOne(oneOf(numbers)))
  simulation.crashNoMore()
  await simulation.advance(untilAllIsOver)
  return simulation.history()
}

const answerOf = ({ fails, takes }: Mood, random: Random): Answer => {
  const isFailure = random() < fails
  const status = isFailure ? (random() < 0.5 ? 503 : null) : 200
  return { status, takes: 1 + Math.floor(random() * takes) }
}
