import test, { type ExecutionContext } from 'ava'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Site } from '../kit/network/http.js'
import { textOf } from '../kit/network/mail-text.js'
import { receiverFor } from '../kit/network/receiver.js'
import { openSmtpServer, type SmtpServer } from '../kit/network/smtp-server.js'
import { openAccount } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { sleep, until } from '../kit/time/until.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

/** Four days pass in a third of a second. */
const rushing = { clockRate: 1_000_000 }

/** In milliseconds: a mail that takes longer does not come. */
const longestMailing = 60_000

const mailServerFor = async (t: ExecutionContext): Promise<SmtpServer> => {
  const server = await openSmtpServer()
  t.teardown(server.close)
  return server
}

/** An account with an admin, a manager and an agent, whose webhook fails until it is turned off. */
const turnedOff = async (t: ExecutionContext, site: Site) => {
  const receiver = await receiverFor(t)
  receiver.answer(() => 500)
  const account = await openAccount(site)
  for (const role of ['admin', 'manager', 'agent']) {
    await account.manage('POST', '/members', { email: `${role}@example.org`, role })
  }
  const url = `${receiver.url}/path-of-the-hook?key=in-the-query`
  const webhookId = await account.addWebhook({ url, token: 'token-of-the-hook' })
  await account.submitted({ first_name: 'Zebedee' })
  await receiver.received(mostAttempts)
  return { account, webhookId, origin: new URL(receiver.url).origin }
}

const toOf = (message: string): string => /^To: (.*)$/m.exec(message)?.[1] ?? 'nobody'

const outboxOf = (dataDir: string): ReadonlyArray<string> => {
  const directory = join(dataDir, 'outbox')
  const files = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.eml')) : []
  return files.map((name) => readFileSync(join(directory, name), 'utf8'))
}

test('each admin and manager is e-mailed once, into the outbox where there is no server (contract 6.6.4)', async (t) => {
  const dataDir = dataDirectory(t)
  const service = await serviceFor(t, dataDir, rushing)
  const { account, webhookId, origin } = await turnedOff(t, service)
  await until('two mails', longestMailing, () => outboxOf(dataDir).length >= 2)
  await sleep(300)
  const mails = outboxOf(dataDir)
  t.deepEqual(mails.map(toOf).toSorted(), ['admin@example.org', 'manager@example.org'])
  for (const mail of mails) {
    t.regex(mail, /^From: Leadloop <leadloop@localhost>$/m)
    const text = textOf(mail)
    t.true(text.startsWith(`The webhook ${webhookId} to ${origin} was turned off:\n`))
    t.regex(text, /^Turned off at: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m)
    t.regex(text, /^Why the last attempt failed: status 500$/m)
    t.regex(text, /^Held for it now: \d+ deliver(y|ies)\.$/m)
    const call = `${service.url}/manage/v1/accounts/${account.id}/webhooks/${webhookId}/turn_on`
    t.true(text.includes(`\nPOST ${call}\n{"catch_up": true}\n`))
    t.notRegex(mail, /path-of-the-hook|in-the-query|token-of-the-hook|Zebedee/)
  }
})

test('with SMTP_URL it goes to that server, and nothing into the outbox (contract 6.6.4)', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await mailServerFor(t)
  const service = await serviceFor(t, dataDir, { ...rushing, smtpUrl: server.url })
  const { webhookId } = await turnedOff(t, service)
  await until('two mails', longestMailing, () => server.taken.length >= 2)
  await sleep(300)
  t.deepEqual(server.taken.flatMap(({ to }) => to).toSorted(), ['admin@example.org', 'manager@example.org'])
  for (const { from, message } of server.taken) {
    t.is(from, 'leadloop@localhost')
    t.true(textOf(message).includes(`\nPOST ${service.url}/manage/v1/accounts/`))
    t.true(message.includes(webhookId))
  }
  t.deepEqual(outboxOf(dataDir), [])
})

test('what was due when the service ended is mailed by the next start, once', async (t) => {
  const dataDir = dataDirectory(t)
  const server = await mailServerFor(t)
  server.reply((step) => (step === 'RCPT' ? '451 come again' : undefined))
  const first = await serviceFor(t, dataDir, { ...rushing, smtpUrl: server.url })
  await turnedOff(t, first)
  await until('an attempt', longestMailing, () => server.connections() > 0)
  await first.stop()
  t.deepEqual(server.taken, [])
  server.reply(() => undefined)
  await serviceFor(t, dataDir, { ...rushing, smtpUrl: server.url })
  await until('two mails', longestMailing, () => server.taken.length >= 2)
  await sleep(300)
  t.deepEqual(server.taken.flatMap(({ to }) => to).toSorted(), ['admin@example.org', 'manager@example.org'])
})
