import type { Mail, MailTransport } from '../../projections/notices/mail-transport.js'
import { textOf } from '../kit/network/mail-text.js'
import { at, noticeId } from '../kit/domain/samples.js'
import { behaviourOf } from './behaviour.js'

type OpenMail = {
  /** Mails from `leadloop@example.com`. */
  readonly transport: MailTransport
  /** Every mail that has arrived, with line feeds alone: the newest under each id where a repeat replaces, else all. */
  readonly arrived: () => Promise<ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

export const mailOf = (changed: Partial<Mail> = {}): Mail => ({
  id: noticeId(),
  at: at(),
  to: 'ada@example.org',
  subject: 'A webhook was turned off',
  text: 'The first line.\n\nPOST https://leads.example.com/\n',
  ...changed,
})

/** What every `MailTransport` does (projections/notices/mail-transport.ts). */
export const mailContract = (name: string, open: () => Promise<OpenMail>): void => {
  const behaviour = behaviourOf(name, open)

  behaviour('a mail arrives as it was written, with its own id and time', async (t, { transport, arrived }) => {
    t.is(await transport.send(mailOf()), 'sent')
    const [message = ''] = await arrived()
    t.is(textOf(message), mailOf().text)
    const [head = ''] = message.split('\n\n')
    const headers = new Map(head.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line] as const))
    t.is(headers.get('From'), 'From: Leadloop <leadloop@example.com>')
    t.is(headers.get('To'), 'To: ada@example.org')
    t.is(headers.get('Subject'), 'Subject: A webhook was turned off')
    t.is(headers.get('Message-ID'), `Message-ID: <${noticeId()}@example.com>`)
    t.is(headers.get('Date'), 'Date: Thu, 15 Jan 2026 12:00:00 +0000')
    t.is(headers.get('Auto-Submitted'), 'Auto-Submitted: auto-generated')
  })

  behaviour('a repeat is the same mail, byte for byte', async (t, { transport, arrived }) => {
    t.is(await transport.send(mailOf()), 'sent')
    const [first] = await arrived()
    t.is(await transport.send(mailOf()), 'sent')
    t.deepEqual(new Set(await arrived()), new Set([first]))
  })

  behaviour('each id is a mail of its own', async (t, { transport, arrived }) => {
    const sent = [1, 2, 3, 4, 5, 6].map((n) =>
      transport.send(mailOf({ id: noticeId(n), to: `member-${n}@example.org` })),
    )
    t.deepEqual(new Set(await Promise.all(sent)), new Set(['sent']))
    const all = (await arrived()).map((message) => /^To: (.*)$/m.exec(message)?.[1] ?? 'nobody')
    t.deepEqual(
      all.toSorted(),
      [1, 2, 3, 4, 5, 6].map((n) => `member-${n}@example.org`),
    )
  })

  behaviour('lines that begin with a dot, and long ones, stay whole', async (t, { transport, arrived }) => {
    const text = `.\n..\n.hidden\nhttps://leads.example.com/${'a'.repeat(200)}\n`
    t.is(await transport.send(mailOf({ text })), 'sent')
    t.is(textOf((await arrived())[0] ?? ''), text)
  })

  behaviour('neither an address nor a subject adds a header', async (t, { transport, arrived }) => {
    await transport.send(
      mailOf({ subject: 'One\r\nBcc: eve@example.net\n\nTwo', to: 'ada@example.org\nBcc:eve@example.net' }),
    )
    for (const message of await arrived()) t.notRegex(message, /^Bcc/im)
  })
}
