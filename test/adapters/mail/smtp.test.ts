import test, { type ExecutionContext } from 'ava'
import { createServer, type AddressInfo } from 'node:net'
import { smtpMail } from '../../../adapters/mail/smtp.js'
import { mailContract, mailOf } from '../../contracts/mail.js'
import { noticeId } from '../../kit/domain/samples.js'
import { openSmtpServer, type Replying, type SmtpStep } from '../../kit/network/smtp-server.js'
import { settled } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

/**
 * How long a mail may take, in milliseconds: what must come in time is waited for long, however slow the machine is.
 */
const patient = { responseTimeout: 30_000, mailTimeout: 60_000 }
const brief = { responseTimeout: 300, mailTimeout: 1_000 }

const opened = async (limits = patient) => {
  const server = await openSmtpServer()
  const transport = smtpMail({ url: server.url, from: 'leadloop@example.com', ...limits })
  const close = async () => {
    transport.close()
    await server.close()
  }
  return { server, transport, close }
}

mailContract('SMTP', async () => {
  const { server, transport, close } = await opened()
  return { transport, close, arrived: () => Promise.resolve(server.taken.map(({ message }) => message)) }
})

const outcomeWith = async (t: ExecutionContext, replying: Replying, limits = patient) => {
  const { server, transport, close } = await opened(limits)
  t.teardown(close)
  server.reply(replying)
  return transport.send(mailOf())
}

const at =
  (wanted: SmtpStep, reply: string | null): Replying =>
  (step) =>
    step === wanted ? reply : undefined

test('a mail goes to its address and to no other', async (t) => {
  const { server, transport, close } = await opened()
  t.teardown(close)
  t.is(await transport.send(mailOf()), 'sent')
  await transport.send(mailOf({ id: noticeId(2), to: 'a,b@example.org' }))
  const [first, ...others] = server.taken
  t.like(first, { from: 'leadloop@example.com', to: ['ada@example.org'] })
  for (const { to } of others) t.deepEqual(to, ['"a,b"@example.org'])
})

test('a mail is refused for good where the server refuses its address or the message with a 5xx', async (t) => {
  for (const step of ['RCPT', 'DATA', 'end'] as const) {
    t.deepEqual(await outcomeWith(t, at(step, '550 5.1.1 <ada@example.org> unknown')), {
      kind: 'refused',
      reason: 'SMTP 550',
    })
  }
})

test('a mail that the server refuses with a 4xx may be retried, whatever it is about', async (t) => {
  for (const step of ['MAIL', 'RCPT', 'DATA', 'end'] as const) {
    t.deepEqual(await outcomeWith(t, at(step, '451 4.7.1 <ada@example.org> greylisted')), {
      kind: 'failed',
      reason: 'SMTP 451',
    })
  }
  t.deepEqual(await outcomeWith(t, at('greeting', '421 too busy')), { kind: 'failed', reason: 'SMTP 421' })
})

test('a mail may be retried where a 5xx is about the server or the sender', async (t) => {
  t.deepEqual(await outcomeWith(t, at('greeting', '554 no')), { kind: 'failed', reason: 'SMTP 554' })
  t.deepEqual(await outcomeWith(t, at('MAIL', '530 who are you')), { kind: 'failed', reason: 'SMTP 530' })
})

test('a mail fails in time where the server stops answering', async (t) => {
  for (const step of ['greeting', 'EHLO', 'RCPT', 'end'] as const) {
    t.deepEqual(await outcomeWith(t, at(step, null), brief), { kind: 'failed', reason: 'no response' }, step)
  }
})

test('a mail fails in time where the server answers without an end', async (t) => {
  const server = createServer((socket) => {
    socket.write('220 mail.example ESMTP\r\n')
    const drip = setInterval(() => socket.write('250-one line more\r\n'), 50)
    socket.on('error', () => undefined).once('close', () => clearInterval(drip))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = smtpMail({ url, from: 'leadloop@example.com', ...brief })
  t.deepEqual(await transport.send(mailOf()), { kind: 'failed', reason: 'no response' })
  transport.close()
  server.close()
})

test('a mail fails where there is no server', async (t) => {
  const { server, transport, close } = await opened()
  await server.close()
  t.deepEqual(await transport.send(mailOf()), { kind: 'failed', reason: 'no connection' })
  await close().catch(() => undefined)
})

test('the mail after one that was refused goes over the same connection', async (t) => {
  const { server, transport, close } = await opened()
  t.teardown(close)
  let isReset = false
  server.reply((step, line) => {
    isReset ||= step === 'RSET'
    return step === 'RCPT' && line.includes('ada@') ? '550 no' : undefined
  })
  await transport.send(mailOf())
  await until('the connection is reset', 60_000, () => isReset)
  await settled()
  t.is(await transport.send(mailOf({ id: noticeId(2), to: 'grace@example.org' })), 'sent')
  t.is(server.connections(), 1)
})
