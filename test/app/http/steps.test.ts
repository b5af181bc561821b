import test from 'ava'
import { optional, t as io, Text } from '../../../domain/codec.js'
import { WebhookId } from '../../../domain/ids.js'
import { E, flow, TE, type Either } from '../../../domain/prelude.js'
import type { Request } from '../../../app/http/endpoint.js'
import type { Answer, Problem } from '../../../app/http/problem.js'
import {
  answer,
  bind,
  bindOr,
  chain,
  check,
  execute,
  pathId,
  withBody,
  withLenientBody,
  withoutFields,
} from '../../../app/http/steps.js'

const webhookId: WebhookId = `whk_${'0'.repeat(26)}`
const gone: Problem = { kind: 'webhook-not-found' }

const requestWith = (given: Partial<Request> = {}): Request => ({
  method: 'GET',
  params: {},
  query: () => undefined,
  queryNames: () => [],
  header: () => undefined,
  body: undefined,
  ...given,
})

/** Where every pipeline begins. */
const call = (given: Partial<Request> = {}) => TE.right({ request: requestWith(given), caller: 'somebody' })

test('a step sees what the steps before it have found', async (t) => {
  const handle = flow(
    bind('one', ({ caller }: { readonly request: Request; readonly caller: string }) => TE.right(`${caller} 1`)),
    bind('two', ({ one }) => TE.right(`${one} 2`)),
    TE.let('three', ({ one, two }) => [one, two, 3]),
    answer(200, ({ caller, three }) => ({ caller, three })),
  )
  const answered = await handle(call())()
  t.like(answered, E.right({ status: 200, body: { caller: 'somebody', three: ['somebody 1', 'somebody 1 2', 3] } }))
})

test('a callback gives an Either at once, in a promise, or as a TaskEither', async (t) => {
  type Found = { readonly events: ReadonlyArray<{ readonly correlationId: string }> }
  const found: Found = { events: [] }
  for (const given of [E.right(found), E.left(gone)] satisfies ReadonlyArray<Either<Problem, Found>>) {
    for (const look of [() => given, () => Promise.resolve(given), () => TE.fromEither<Problem, Found>(given)]) {
      t.deepEqual(await chain(look)(call())(), given)
      const results = [
        await bind('result', look)(call())(),
        await bindOr('result', look, gone)(call())(),
        await execute(look)(call())(),
      ]
      for (const result of results) t.like(result, E.isLeft(given) ? given : E.right({ result: found }))
    }
  }
})

test('a problem ends the pipeline: no later step is asked', async (t) => {
  const asked: Array<string> = []
  const asking = <A>(name: string, found: A): A => {
    asked.push(name)
    return found
  }
  const refused: Either<Problem, number> = E.left(gone)
  const handle = flow(
    bind('first', (_: { readonly request: Request }) => asking('first', TE.right(1))),
    bind('second', () => asking('second', TE.fromEither(refused))),
    check(() => asking('check', undefined)),
    bindOr('third', () => asking('third', Promise.resolve(E.right(3))), gone),
    execute(() => asking('execute', Promise.resolve(E.right({ events: [] })))),
    answer(200, () => asking('answer', {})),
  )
  t.deepEqual(await handle(call())(), E.left(gone))
  t.deepEqual(asked, ['first', 'second'])
})

test('what is not there is the problem that the endpoint names for it', async (t) => {
  const looked = (found: Either<Problem, string | undefined>) => bindOr('it', () => Promise.resolve(found), gone)
  const unavailable: Problem = { kind: 'unavailable', reason: 'the store is away' }
  t.deepEqual(await looked(E.right(undefined))(call())(), E.left(gone))
  t.deepEqual(await looked(E.left(unavailable))(call())(), E.left(unavailable))
  t.like(await looked(E.right('found'))(call())(), E.right({ it: 'found' }))
})

test('a check adds nothing, and ends the pipeline with its problem', async (t) => {
  const before = await call()()
  t.deepEqual(await check(() => undefined)(TE.fromEither(before))(), before)
  t.deepEqual(await check(() => gone)(call())(), E.left(gone))
  t.deepEqual(await check(() => Promise.resolve(gone))(call())(), E.left(gone))
})

test('an id in the path is found under its name there; a text that is no such id is a problem', async (t) => {
  const named = (params: Request['params']) => pathId('webhook_id', WebhookId, gone)(call({ params }))()
  t.like(await named({ webhook_id: webhookId }), E.right({ webhook_id: webhookId }))
  for (const params of [{}, { webhook_id: 'whk_1' }, { webhook_id: `acc_${'0'.repeat(26)}` }]) {
    t.deepEqual(await named(params), E.left(gone))
  }
})

test('a body is decoded; what does not fit is named by its path, never by its value', async (t) => {
  const Change = io.strict({ title: Text, note: optional(io.string), by: optional(io.strict({ id: io.string })) })
  const decoded = (body: unknown) => withBody(Change)(call({ body }))()
  t.like(await decoded({ title: ' A ', note: null }), E.right({ body: { title: 'A', note: undefined } }))
  t.deepEqual(
    await decoded({ title: '', note: 4155550123 }),
    E.left({ kind: 'invalid', messages: ['title must be a text that is not blank', 'note must be string'] } as const),
  )
  for (const body of [undefined, null, 1, 'text', []]) t.true(E.isLeft(await decoded(body)))
})

test('a field that a body may not have is named, unless its name says more than a name', async (t) => {
  const Change = io.strict({
    title: Text,
    steps: optional(io.readonlyArray(io.strict({ days: io.number }))),
    rest: optional(io.UnknownRecord),
  })
  const body: unknown = JSON.parse(
    '{"title":" A ","titel":1,"__proto__":1,"a b":1,"c d":1,"steps":[{"days":1},{"days":2,"day":3}],"rest":{"x":{"y":1}}}',
  )
  const named = ['titel', '__proto__', 'a name that was sent', 'steps.1.day']
  t.deepEqual(
    await withBody(Change)(call({ body }))(),
    E.left({ kind: 'invalid', messages: named.map((name) => `${name} is no field of this request`) } as const),
  )
  t.like(await withLenientBody(Change)(call({ body }))(), E.right({ body: { title: 'A', rest: { x: { y: 1 } } } }))
  t.like(await withoutFields()(call({ body: {} }))(), E.right({ body: {} }))
  t.true(E.isLeft(await withoutFields()(call({ body }))()))
})

test('an answer takes its status from what was found, where it depends on that', async (t) => {
  const statusFor = async (events: ReadonlyArray<{ readonly correlationId: string }>) => {
    const handle = flow(
      execute((_: { readonly request: Request }) => Promise.resolve(E.right({ events }))),
      answer(
        ({ result }) => (result.events.length > 0 ? 201 : 200),
        () => ({}),
      ),
    )
    const answered: Either<Problem, Answer> = await handle(call())()
    return E.isRight(answered) ? answered.right.status : undefined
  }
  t.is(await statusFor([]), 200)
  t.is(await statusFor([{ correlationId: 'a' }]), 201)
})

test('an answer knows the correlation id of what was written, and its body does not show it', async (t) => {
  const answered = (events: ReadonlyArray<{ readonly correlationId: string }>) =>
    flow(
      execute((_: { readonly request: Request }) => Promise.resolve(E.right({ events, state: 'new' }))),
      answer(200, ({ result }) => ({ state: result.state })),
    )(call())()
  t.deepEqual(
    await answered([{ correlationId: 'first' }, { correlationId: 'second' }]),
    E.right({ status: 200, body: { state: 'new' }, correlationId: 'first' }),
  )
  t.deepEqual(await answered([]), E.right({ status: 200, body: { state: 'new' }, correlationId: undefined }))
})
