import type { ExecutionContext } from 'ava'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../adapters/node/clock.js'
import { number, openTwilioDouble, type Taken } from '../../twilio-double/double.js'
import { sendJson } from '../network/http.js'
import { idsOf, openAccount, type Account, type SubmittedIds } from './account.js'
import { dataDirectory } from './data-directory.js'
import { serviceFor } from './in-process-service.js'
import { lead as leadWith, newPhone } from './leads.js'

const publicUrl = 'https://leads.example.com'

/** What sends one text, at whatever hour. */
export const oneText = {
  title: 'One text',
  steps: [{ message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 100_000,
}

/** Somebody with a lead in an account. */
export type Person = SubmittedIds & { readonly account: Account; readonly phone: string }

/**
 * A service that sends its texts through a double of the provider, from `sender` where an account has none of its own.
 */
export const openTextingStage = async (t: ExecutionContext, { sender = number, clockRate = 1 } = {}) => {
  let url = ''
  const double = await openTwilioDouble(systemClock(clockRate).now, 1_000, (at) => at.replace(publicUrl, url))
  t.teardown(double.close)
  const directory = dataDirectory(t)
  const site = await serviceFor(t, directory, { clockRate, publicUrl, sms: double.account(sender) })
  url = site.url
  let texts = 0
  const takenFor = (phone: string): ReadonlyArray<Taken> => double.taken.filter(({ form }) => form.get('To') === phone)
  const nextSid = (): string => {
    texts += 1
    return `SM${texts.toString(16).padStart(32, 'f')}`
  }
  return {
    double,
    takenFor,
    nextSid,
    /** A URL that the service gives away, where it can be reached from here. */
    here: (at: string): string => at.replace(publicUrl, url),
    /** An account whose playbook sends one text, or what `changed` says. */
    following: async (title: string, changed: object = {}): Promise<Account> => {
      const account = await openAccount(site, title)
      await account.manage('PATCH', `/playbooks/${account.playbookId}`, { ...oneText, ...changed })
      return account
    },
    submit: async (account: Account, phone = newPhone()): Promise<Person> => {
      const postUrl = account.postUrl.replace(publicUrl, url)
      return {
        account,
        phone,
        ...idsOf(await sendJson(postUrl, 'POST', leadWith({ first_name: 'Ada', phone }))),
      }
    },
    /** What the provider answers where somebody writes to a sender. */
    write: (from: string, to: string, text: string, fields: Readonly<Record<string, string>> = {}): Promise<number> => {
      const form = { MessageSid: nextSid(), From: from, To: to, Body: text, ...fields }
      return double.postInbound(`${publicUrl}/messaging/twilio/inbound`, form)
    },
    mails: (): ReadonlyArray<string> => {
      const outbox = join(directory, 'outbox')
      return existsSync(outbox) ? readdirSync(outbox).map((name) => readFileSync(join(outbox, name), 'utf8')) : []
    },
  }
}
