import type { RecordedEvent } from '../../../domain/events.js'
import { activityLabels, type ActivityLabel } from '../../../domain/activity.js'
import type { ContactId, EngagementId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import type { ConsentAnswer } from '../../../projections/follow-up/consent-verifier.js'
import type { Json } from '../../../projections/ports.js'
import { anyProjection, collectionOf } from '../../../projections/projection.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { engagementId, messageId } from '../domain/samples.js'
import { below, oneOf, randomFrom, type Random } from '../load/random.js'
import type { Life } from '../simulation/life.js'
import { manualClock } from '../time/manual-clock.js'
import {
  convert,
  createPlaybook,
  pause,
  report,
  resume,
  submitLead,
  write,
  writeByHand,
  type Command,
} from './commands.js'
import { followUpProcess } from './follow-up-process.js'
import { memoryStage, type MonthScene, type MonthStage } from './month-stage.js'
import { detailsOf, personNumber, type Person } from './people.js'
import { openProvider, type Arrival } from './provider.js'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** In milliseconds: the days on which leads come, and those that follow. */
const days = 30 * day

/** In milliseconds: by then whoever crashed last has come back. */
const longestEnd = 12 * hour

export type Month = {
  readonly events: ReadonlyArray<RecordedEvent>
  /** What came to the provider, in order. */
  readonly arrivals: ReadonlyArray<Arrival>
  readonly people: ReadonlyMap<ContactId, Person>
  /** The documents of the read model. */
  readonly followUps: ReadonlyMap<string, Json>
  readonly crashes: number
}

/** Labels that a report may carry and that end nothing. */
const reported = activityLabels.filter((label) => label.startsWith('phone_call_') || label === 'link_clicked')

const texts = [
  ...['What would it cost?', 'Who is this?', 'ok', 'HELP', 'info', 'call me', 'Not interested', 'I already sold it'],
  ...['STOP', 'Stop texting me!', 'wrong number', 'Please leave it'],
]

/**
 * A month of leads and of what their contacts do, drawn by the seed: they answer, stay silent, opt out and in again,
 * convert, come again; the provider fails; processes crash and begin again.
 */
export const followUpMonth = async (
  seed: number,
  leads: number,
  open: (scene: MonthScene) => MonthStage | Promise<MonthStage> = memoryStage,
): Promise<Month> => {
  const random = randomFrom(seed * 7_919)
  const clock = manualClock()
  const people = new Map<ContactId, Person>()
  /** The same people, in the order in which they came. */
  const known: Array<Person> = []
  const numbers = new Map<string, Person>()
  /** To whom each was given last. */
  const inbox = new Map<Command, Life | undefined>()
  const engaged = new Map<ContactId, EngagementId>()
  const provider = openProvider({
    random: randomFrom(~seed),
    clock,
    head: () => stage.head(),
    taken: ({ to }) => {
      const person = numbers.get(to)
      if (person !== undefined && random() < 0.5) after(delayOf(random), () => answer(person))
    },
    failed: ({ to }) => {
      const person = numbers.get(to)
      // Who buys now is not written to by the next attempt.
      if (person !== undefined && random() < 0.3)
        after(below(random, 2 * minute), () => ask(convert(person, 'sold', false, clock.now())))
    },
  })
  const stage = await open({
    ...{ seed, leads, clock },
    process: (parts) => {
      const verify = () => parts.life.serve(() => Promise.resolve(consentAnswer(random)))
      return followUpProcess({ ...parts, messenger: provider.messenger(parts.life), consentVerifier: { verify } })
    },
  })
  let submitted = 0
  let written = 0

  const ask = (command: Command): void => void inbox.set(command, undefined)
  const after = (milliseconds: number, act: () => void): void => void clock.sleep(milliseconds).then(act)
  const newMessage = () => messageId((written += 1))

  const submitNext = (): void => {
    submitted += 1
    const again = random() < 0.2 ? known[known.length - 1 - below(random, Math.min(known.length, 60))] : undefined
    const person = again ?? personNumber(people.size + 1, random)
    if (again === undefined) known.push(person)
    people.set(person.contactId, person)
    numbers.set(person.phone, person)
    const drawn = random()
    const consent = drawn < 0.05 ? 'refused' : drawn < 0.15 ? 'awaited' : undefined
    const submit = submitLead(submitted, person, detailsOf(person, random), consent, clock.now())
    const id = engagementId(submitted)
    ask((process) => submit(process).then(() => void engaged.set(person.contactId, id)))
    if (submitted < leads) after(Math.floor((random() * 2 * days) / leads), submitNext)
  }

  /** What somebody does, or an account's own people do, some time after a message. */
  const answer = (person: Person): void => {
    const id = engaged.get(person.contactId)
    const drawn = random()
    const now = clock.now()
    if (id === undefined) return
    if (drawn < 0.45) {
      const text = oneOf(random, texts) ?? 'ok'
      ask(write(person, newMessage(), text))
      if (random() < 0.4)
        after(delayOf(random), () => ask(write(person, newMessage(), random() < 0.5 ? 'START' : 'YES')))
    } else if (drawn < 0.6)
      ask(convert(person, oneOf(random, ['quoted', 'sold', 'custom_conversion']) ?? 'sold', random() < 0.3, now))
    else if (drawn < 0.7) {
      ask(pause(person, id, later(now, below(random, 7 * day))))
      if (random() < 0.5) after(delayOf(random), () => ask(resume(person, id)))
    } else if (drawn < 0.8) ask(writeByHand(person, id, newMessage(), now))
    else ask(report((written += 1), person, id, random() < 0.05 ? 'opted_out' : nextReported(), now))
  }
  let reports = 0
  const nextReported = (): ActivityLabel => reported[(reports += 1) % reported.length] ?? 'phone_call_started'

  let given = 0
  const giveOut = (): void => {
    const running = stage.running()
    for (const [command, givenTo] of inbox) {
      const taker = running[given % running.length]
      if (taker === undefined || givenTo?.isOver() === false) continue
      given += 1
      const { life, process } = taker
      inbox.set(command, life)
      command(process).then(() => {
        // What is left of a process that crashed answers nobody.
        if (!life.isOver()) inbox.delete(command)
      }, stage.fail)
    }
  }
  const pass = async (milliseconds: number): Promise<void> => {
    const end = clock.time() + milliseconds
    do {
      giveOut()
      await stage.settle()
    } while (stage.toNextTimer(end))
  }
  const crashes = (): void => {
    stage.crashAt(1 + below(random, 60))
    after(below(random, 2 * day), crashes)
  }

  ask(createPlaybook(1))
  ask(createPlaybook(2))
  await pass(minute)
  submitNext()
  crashes()
  await pass(days)
  stage.crashAt(0)
  const crashed = stage.crashes()
  // The last processes come up, and show what there is.
  await pass(longestEnd)

  const documents = new Map<string, Json>()
  for await (const { key, document } of stage.documents().all(collectionOf(anyProjection(followUps))))
    if (document !== undefined) documents.set(key, document)
  const events = await stage.events()
  return { events, arrivals: provider.arrivals, people, followUps: documents, crashes: crashed }
}

/** Minutes, or days. */
const delayOf = (random: Random): number => Math.floor(random() ** 3 * 3 * day) + minute

const consentAnswer = (random: Random): ConsentAnswer => {
  const drawn = random()
  if (drawn < 0.7) return { kind: 'verified' }
  return drawn < 0.8 ? { kind: 'refused', reason: undefined } : { kind: 'failed', reason: 'HTTP 503' }
}
