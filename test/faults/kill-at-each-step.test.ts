import test from 'ava'
import { join } from 'node:path'
import { instantOf } from '../../domain/instant.js'
import { messageStory } from '../kit/load/message-story.js'
import { eventsAfter, type StoredEvent } from '../kit/load/streams.js'
import { sendJson } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { addressOf, killed, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { number, openTwilioDouble, type TwilioDouble } from '../twilio-double/double.js'
import { copyDirectory, framesCopied, readWriteAheadLog } from './write-ahead-log.js'

const playbook = {
  title: 'One text',
  steps: [{ message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 2,
}

const openDouble = () => openTwilioDouble(() => instantOf(Date.UTC(2999, 0)))

const publicUrl = 'https://leads.example.com'

const settingsFor = (double: TwilioDouble) => ({
  CLOCK_RATE: '1000',
  PUBLIC_URL: publicUrl,
  SMS_URL: double.url + encodeURIComponent(number),
})

const isOver = (directory: string): boolean => {
  const { leads, ended } = messageStory(eventsAfter(directory, 0))
  return leads.size === 1 && ended.size === 1
}

test('whichever record of a send is the last one before a kill, the text is sent once', async (t) => {
  t.timeout(300_000)
  const directory = temporaryDirectory(t)
  const sent = await openDouble()
  t.teardown(sent.close)
  const first = startService(t, directory, settingsFor(sent))
  const site = { url: await addressOf(first) }
  const account = await openAccount(site)
  t.is((await account.manage('PATCH', `/playbooks/${account.playbookId}`, playbook)).status, 200)
  const postUrl = account.postUrl.replace(publicUrl, site.url)
  t.is((await sendJson(postUrl, 'POST', lead({ first_name: 'Ada' }))).status, 200)
  await until('the text is sent', 30_000, () => eventsAfter(directory, 0).some(({ type }) => type === 'MessageSent'))
  await killed(first)

  const wal = readWriteAheadLog(join(directory, 'leadloop.db-wal'))
  t.is(framesCopied(join(directory, 'leadloop.db-shm')), 0, 'nothing can be cut off any more')
  /** By how many events are left: the last of them, and a folder as a kill right after it leaves it. */
  const cuts = new Map<number, { readonly last: StoredEvent['type']; readonly cut: string }>()
  for (const end of wal.commits.toReversed()) {
    const [cut, beside] = [temporaryDirectory(t), temporaryDirectory(t)]
    copyDirectory(directory, cut, end)
    copyDirectory(directory, beside, end)
    const left = eventsAfter(beside, 0)
    const last = left.at(-1)?.type
    if (last === undefined || !left.some(({ type }) => type === 'LeadSubmitted')) break
    cuts.set(left.length, { last, cut })
  }
  const lasts = [...cuts.values()].map(({ last }) => last)
  // The lead and all that follows from it at once are one append, of which `started` is the last event.
  for (const type of ['ActivityRecorded', 'StepBegun', 'MessageBegun', 'MessageSent'] as const)
    t.true(lasts.includes(type), `none ends with ${type}: ${lasts.join()}`)

  const seen: Array<string> = []
  const resumeAfter = async (cut: string, last: string, double: TwilioDouble): Promise<void> => {
    const service = startService(t, cut, settingsFor(double))
    await addressOf(service)
    await until(`the engagement is over after ${last}`, 60_000, () => isOver(cut))
    await killed(service)
    t.is(double.taken.length, 1, `killed after ${last}`)
    seen.push(`${last}${double === sent ? ', which the provider has' : ''}`)
    const { endings, problems } = messageStory(eventsAfter(cut, 0))
    t.deepEqual([...endings.values()], [['sent']], `killed after ${last}`)
    t.deepEqual(problems, [])
  }
  for (const { last, cut } of cuts.values()) {
    const isBegun = messageStory(eventsAfter(cut, 0)).tries.size > 0
    const again = temporaryDirectory(t)
    copyDirectory(cut, again)
    // Between the record before a try and the one after it, the provider may have the text or not.
    if (isBegun) await resumeAfter(again, last, sent)
    if (isBegun && last !== 'MessageBegun') continue
    const empty = await openDouble()
    t.teardown(empty.close)
    await resumeAfter(cut, last, empty)
  }
  t.log(seen.join('; '))
})
