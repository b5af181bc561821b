import test, { type ExecutionContext } from 'ava'
import { runningService } from '../../../../app/cli/service/running-service.js'
import type { Call } from '../../../../app/cli/service/service-call.js'
import { E } from '../../../../domain/prelude.js'
import { live } from '../../../kit/network/answering.js'
import { receiverFor, type Answering } from '../../../kit/network/receiver.js'
import { runLeadloop } from '../../../kit/parts/leadloop.js'
import { configOf, operatorKey } from '../../../kit/service/settings.js'
import { temporaryDirectory } from '../../../kit/temporary-directory.js'
import { manualTime } from '../../../kit/time/manual-time.js'

const neverAnswers: Answering = () => undefined

const breaksOff: Answering = (_, { socket }) => {
  socket?.destroy()
  return undefined
}

const beginsToAnswer: Answering = (_, response) => {
  response.writeHead(200).write('{')
  return undefined
}

/** Something that listens, and time that stands still until it is advanced. */
const openStage = async (t: ExecutionContext, answering: Answering) => {
  const receiver = await receiverFor(t)
  receiver.answer(answering)
  const { origin: site, port } = new URL(receiver.url)
  const time = manualTime()
  const look = () => runningService(configOf(temporaryDirectory(t), { port: Number(port) }), time.process())
  const running = async (): Promise<Call> => {
    const found = await look()
    if (E.isLeft(found) || found.right === undefined) throw new Error('no service is found')
    return found.right
  }
  return { receiver, site, port, time, look, running }
}

/** Runs a command that is to find what listens there. */
const runFor = (t: ExecutionContext, port: string, command: ReadonlyArray<string>) =>
  runLeadloop(command, {
    PORT: port,
    DATA_DIR: temporaryDirectory(t),
    OPERATOR_KEY: operatorKey,
    EVENTSTORE_URL: undefined,
    MONGODB_URL: undefined,
  })

test('whether a service runs that does not answer is not waited for any longer than five seconds', async (t) => {
  const { receiver, site, time, look } = await openStage(t, neverAnswers)
  const looking = look()
  await receiver.received(1)
  await time.advance(5_000)
  t.deepEqual(await looking, E.left(`What listens at ${site} gave no answer within 5 seconds.`))
})

test('of a call that is to change something it is said that it may go on after the minute', async (t) => {
  const { receiver, site, time, running } = await openStage(t, (n, response) =>
    (n === 1 ? live : neverAnswers)(n, response),
  )
  const calling = (await running())('POST', '/erasures')
  await receiver.received(2)
  await time.advance(60_000)
  const reason = `What listens at ${site} gave no answer within 60 seconds. It may still do what it was asked for.`
  t.deepEqual(await calling, E.left(reason))
})

for (const [what, answering] of Object.entries({ 'is not answered': neverAnswers, 'is half answered': beginsToAnswer }))
  test(`a call that ${what} ends after a minute`, async (t) => {
    const { receiver, site, time, running } = await openStage(t, (n, response) =>
      (n === 1 ? live : answering)(n, response),
    )
    const calling = (await running())('GET', '/parked')
    await receiver.received(2)
    await time.advance(60_000)
    t.deepEqual(await calling, E.left(`What listens at ${site} gave no answer within 60 seconds.`))
  })

test('a service that breaks the look off, or a call, ends the command and says why', async (t) => {
  for (const answered of [0, 1]) {
    const { port } = await openStage(t, (n, response) => (n <= answered ? live : breaksOff)(n, response))
    const { code, stderr } = await runFor(t, port, ['rebuild'])
    t.is(code, 1)
    const told = answered === 0 ? '' : ' It may still do what it was asked for\\.'
    t.regex(
      stderr,
      new RegExp(`^leadloop can't rebuild\\. request to \\S+ failed, reason: socket hang up\\.${told}\n$`),
    )
  }
})

const strangers: Readonly<Record<string, Answering>> = {
  'answers with nothing': () => 200,
  'answers with a page': (_, response) => {
    response.writeHead(200).end('<!doctype html>')
    return undefined
  },
  'knows no such path': () => 404,
  'lives elsewhere': (n, response) => {
    if (n > 1) return live(n, response)
    response.writeHead(302, { location: '/health/elsewhere' }).end()
    return undefined
  },
}

for (const [what, answering] of Object.entries(strangers))
  test(`a stranger that ${what} is told no key`, async (t) => {
    const { receiver, site, port } = await openStage(t, answering)
    const { code, stderr } = await runFor(t, port, ['parked', 'list'])
    t.is(code, 1)
    const sentence = `What listens at ${site} is not Leadloop: set HOST and PORT.`
    t.is(stderr, `leadloop can't list what is parked. ${sentence}\n`)
    t.is(receiver.requests.length, 1)
    t.is(receiver.requests[0]?.headers.authorization, undefined)
  })
