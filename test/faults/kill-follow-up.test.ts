import test from 'ava'
import { instantOf } from '../../domain/instant.js'
import { having, sendJson } from '../kit/network/http.js'
import { messageStory, stepOf, wronglySent } from '../kit/load/message-story.js'
import { below, randomFrom, seedOf } from '../kit/load/random.js'
import { differingReadModels, eventsAfter, type StoredEvent } from '../kit/load/streams.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { dataDirectoryWithStores } from '../kit/service/data-directory.js'
import { lead } from '../kit/service/leads.js'
import { addressOf, killed, startService } from '../kit/service/service-process.js'
import { sleep, until } from '../kit/time/until.js'
import { number, openTwilioDouble } from '../twilio-double/double.js'

const publicUrl = 'https://leads.example.com'

/** `FOLLOW_UP_KILLS` asks for more of them, such as a hundred. */
const kills = Number(process.env['FOLLOW_UP_KILLS'] ?? 6)

/** A minute of the service's clock is 60 milliseconds. */
const clockRate = '1000'

/** In milliseconds: by then all that a playbook does is done. */
const longestLife = 1_000

const playbook = {
  title: 'Three texts',
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there, {{first_name}}?', delay_minutes: 1 },
    { message: 'Goodbye, {{first_name}}.', delay_minutes: 2 },
  ],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 2,
}

/**
 * What the provider does with the first request of a life: it answers it, takes it and never answers, or loses it. It
 * is a message, or where the life before left one of which nobody knows, the search for it.
 */
const provides = ['answers', 'late', 'answers', 'cut-before', 'late', 'cut-before'] as const

const isOver = (events: ReadonlyArray<StoredEvent>): boolean => {
  const { leads, ended } = messageStory(events)
  return ended.size === leads.size
}

const shownTo = async (account: Account, contactId: string): Promise<ReadonlyArray<string>> =>
  having(await account.manage('GET', `/contacts/${contactId}/messages`), 'messages').map(
    ({ text, state }) => `${String(text)} ${String(state)}`,
  )

test(`no message is lost by ${kills} kills at random moments, and none is sent twice`, async (t) => {
  t.timeout(60_000 + kills * 15_000)
  const random = randomFrom(seedOf(t))
  // The clock of the service runs ahead: what the provider has taken must not seem to be older than the try.
  const double = await openTwilioDouble(() => instantOf(Date.UTC(2999, 0)))
  t.teardown(double.close)
  const directory = await dataDirectoryWithStores(t)
  const settings = { CLOCK_RATE: clockRate, PUBLIC_URL: publicUrl, SMS_URL: double.url + encodeURIComponent(number) }
  const start = () => startService(t, directory, settings)
  let service = start()
  let address = await addressOf(service)
  const site = {
    get url() {
      return address
    },
  }
  const account = await openAccount(site)
  t.is((await account.manage('PATCH', `/playbooks/${account.playbookId}`, playbook)).status, 200)
  const contacts: Array<string> = []
  const submit = async (): Promise<void> => {
    const answer = await sendJson(account.postUrl.replace(publicUrl, address), 'POST', lead({ first_name: 'Ada' }))
    if (answer.status === 200) contacts.push(having(answer, 'contact_id'))
    else t.fail(`a lead was answered with ${answer.status}`)
  }
  let unanswered = 0

  for (let kill = 1; kill <= kills; kill += 1) {
    address = await addressOf(service)
    const does = provides[(kill - 1) % provides.length] ?? 'answers'
    const held = double.held()
    if (does !== 'answers') double.fail(does)
    const submitted = Array.from({ length: 1 + below(random, 3) }, async (_, nth) => {
      if (nth > 0) await sleep(random() * longestLife)
      await submit().catch(() => (unanswered += 1))
    })
    if (does === 'late') await held
    else await sleep(random() * longestLife)
    await killed(service)
    await Promise.all(submitted)
    service = start()
  }

  address = await addressOf(service)
  await submit()
  await until('every engagement has ended', 120_000, () => isOver(eventsAfter(directory, 0)))
  const shown = await Promise.all(contacts.map((id) => shownTo(account, id)))
  t.deepEqual(
    shown.filter((texts) => texts.length !== playbook.steps.length),
    [],
  )
  await killed(service)

  const story = messageStory(eventsAfter(directory, 0))
  const { leads, steps, tries, endings, problems } = story
  t.deepEqual(problems, [])
  t.true(leads.size >= contacts.length && contacts.length > 0)
  const owed = [...leads].flatMap((id) => playbook.steps.map((_, step) => stepOf(step, id)))
  t.deepEqual(
    owed.filter((step) => !steps.has(step)),
    [],
  )
  t.is(steps.size, owed.length)
  t.deepEqual(wronglySent(story, double.taken), [])
  t.deepEqual(await differingReadModels(directory), [])
  const unknown = [...endings.values()].filter(([how]) => how === 'unknown').length
  const again = [...tries.values()].filter((attempts) => attempts > 1).length
  t.log(
    `${leads.size} leads, ${unanswered} submissions unanswered; ${tries.size} messages, ${double.taken.length} taken, ` +
      `${again} tried again, ${unknown} shown as unknown`,
  )
})
