import { decode, t, undecodedFields } from '../../domain/codec.js'
import { E, pipe, type Either, type TaskEither } from '../../domain/prelude.js'
import type { HasRequest } from './endpoint.js'
import { invalid, unknownNames, type Answer, type Problem } from './problem.js'

/**
 * What an endpoint is made of. A step works on what the steps before it have found, its context; it adds to the context
 * under a name, or ends the pipeline with a problem. Its callback gives an Either, as it comes: at once, in a promise,
 * or as a TaskEither. The callback of `check` is different: it gives a problem, or undefined.
 *
 *     handle: flow(
 *       withAccount(ports),
 *       withBody(ChangeRequest),
 *       bind('playbook', ({ account, body }) => ownPlaybook(…)),
 *       execute(({ account, body, caller }) => …),
 *       answer(200, ({ result }) => …),
 *     )
 */
type Step<Context, Next> = (before: TaskEither<Problem, Context>) => TaskEither<Problem, Next>

type Named<Name extends string, A> = { readonly [N in Name]: A }

type Found<A> = Either<Problem, A> | Promise<Either<Problem, A>> | TaskEither<Problem, A>

/** Not `async`, so that no request pays for another promise. */
const resultOf = <A>(found: Found<A>) => (typeof found === 'function' ? found() : found)

/**
 * `TE.bindW`, and for any context: that one takes only a name that the context lacks, which TypeScript can't check
 * where the context is a type parameter. Written out, like the other steps: each request goes through several, and one
 * `TE.bindW` took a seventh of what finding a contact costs.
 */
export const bind =
  <Context, Name extends string, A>(
    name: Name,
    look: (context: Context) => Found<A>,
  ): Step<Context, Context & Named<Name, A>> =>
  (before) =>
  async () => {
    const context = await before()
    if (E.isLeft(context)) return context
    const found = await resultOf(look(context.right))
    if (E.isLeft(found)) return found
    // A name that is computed inside the literal would be several times slower.
    const next = { ...context.right } as Record<string, unknown>
    next[name] = found.right
    return E.right(next as Context & Named<Name, A>)
  }

/** `TE.chain`: goes on with what `look` finds alone. */
export const chain =
  <Context, A>(look: (context: Context) => Found<A>): Step<Context, A> =>
  (before) =>
  async () => {
    const context = await before()
    return E.isLeft(context) ? context : resultOf(look(context.right))
  }

/** Adds what `look` finds; `missing` where there is nothing. */
export const bindOr = <Context, Name extends string, A>(
  name: Name,
  look: (context: Context) => Found<A | undefined>,
  missing: Problem,
): Step<Context, Context & Named<Name, A>> =>
  bind(name, async (context) => {
    const found = await resultOf(look(context))
    if (E.isLeft(found)) return found
    return found.right === undefined ? E.left(missing) : E.right(found.right)
  })

/** Goes on as before, unless there is a problem. */
export const check =
  <Context>(look: (context: Context) => Problem | undefined | Promise<Problem | undefined>): Step<Context, Context> =>
  (before) =>
  async () => {
    const context = await before()
    if (E.isLeft(context)) return context
    const problem = await look(context.right)
    return problem === undefined ? context : E.left(problem)
  }

/**
 * Adds the id that the path names, under the name that it has there; `missing` where that can't be an id of this kind.
 */
export const pathId = <Context extends HasRequest, Name extends string, Id>(
  name: Name,
  codec: t.Type<Id, unknown>,
  missing: Problem,
): Step<Context, Context & Named<Name, Id>> =>
  bind(name, ({ request }): Either<Problem, Id> => {
    const id = request.params[name]
    return codec.is(id) ? E.right(id) : E.left(missing)
  })

/** Adds the decoded `body`; no body is read as `{}`. A field of no name that the codec knows is let through. */
export const withLenientBody = <Context extends HasRequest, A>(
  codec: t.Decoder<unknown, A>,
): Step<Context, Context & { readonly body: A }> =>
  bind('body', ({ request }) => pipe(decode(codec, request.body), E.mapLeft(invalid)))

/**
 * As `withLenientBody`, but that a field which the codec does not know is refused: whoever sent it would take for done
 * what was not. That holds further in as far as codecs are exact there.
 */
export const withBody = <Context extends HasRequest, A>(
  codec: t.ExactType<t.Any, A, unknown>,
): Step<Context, Context & { readonly body: A }> =>
  bind('body', ({ request: { body } }): Either<Problem, A> => {
    const decoded = decode(codec, body)
    if (E.isLeft(decoded)) return E.left(invalid(decoded.left))
    const unknown = undecodedFields(body, decoded.right)
    return unknown.length === 0 ? decoded : E.left(unknownNames(unknown, 'field of this request'))
  })

/** For a request that says all in its path. */
export const withoutFields = <Context extends HasRequest>() =>
  withBody<Context, object>(t.strict({}, 'an object without fields'))

/** The result of a command: the events that it appended, if any. */
type Result = { readonly events: ReadonlyArray<{ readonly correlationId: string }> }

/**
 * Executes a command and adds its `result`. `run` gives it to `ClientCommands`, which loads, decides, appends, carries
 * out reactions, and waits until the next request sees what was written.
 */
export const execute = <Context, A extends Result>(run: (context: Context) => Found<A>) => bind('result', run)

/** The last step: puts what was found into an answer. */
export const answer =
  <Context extends HasRequest & { readonly result?: Result }>(
    status: number | ((context: Context) => number),
    bodyOf: (context: Context) => unknown,
    headers?: Readonly<Record<string, string>>,
  ): Step<Context, Answer> =>
  (before) =>
  async () => {
    const context = await before()
    if (E.isLeft(context)) return context
    const { right } = context
    return E.right({
      status: typeof status === 'number' ? status : status(right),
      body: bodyOf(right),
      ...(headers && { headers }),
      correlationId: right.result?.events[0]?.correlationId,
    })
  }
