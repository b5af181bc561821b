import { E, TE, type TaskEither } from '../../domain/prelude.js'
import { unknownNames, type Answer, type Problem } from './problem.js'

/** What an endpoint sees of a request: nothing of Koa. */
export type Request = {
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  /**
   * Undefined where the parameter is missing. Blank, which no parameter may be, where it is given twice: nobody can
   * tell which one counts.
   */
  readonly query: (name: string) => string | undefined
  /** Of the parameters, each as often as it was sent. */
  readonly queryNames: () => ReadonlyArray<string>
  readonly header: (name: string) => string | undefined
  /** As it was parsed, `{}` where none was sent; undefined for a GET. */
  readonly body: unknown
}

/** The token of `Authorization: Bearer <token>`. */
export const bearerOf = (request: Request): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]

export type HasRequest = { readonly request: Request }

/** A request, and who makes it. */
type Call<Caller> = HasRequest & { readonly caller: Caller }

/** One route as data. `path` may hold parameters (`/contacts/:id`). */
export type Endpoint<Caller> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** From the call to the answer: a pipeline of steps (`steps.ts`). */
  readonly handle: (call: TaskEither<Problem, Call<Caller>>) => TaskEither<Problem, Answer>
}

/**
 * The endpoint, but that a GET is refused where the endpoint asks for no parameter of a name that was sent: a misspelt
 * filter would show everything.
 */
export const refusingUnknown = <Caller>(endpoint: Endpoint<Caller>): Endpoint<Caller> => {
  if (endpoint.method !== 'GET') return endpoint
  const handle: Endpoint<Caller>['handle'] = (before) => async () => {
    const call = await before()
    if (E.isLeft(call)) return call
    const { request } = call.right
    const asked = new Set<string>()
    const query = (name: string): string | undefined => {
      asked.add(name)
      return request.query(name)
    }
    const answered = await endpoint.handle(TE.right({ ...call.right, request: { ...request, query } }))()
    const unknown = [...new Set(request.queryNames())].filter((name) => !asked.has(name))
    if (E.isLeft(answered) || unknown.length === 0) return answered
    return E.left(unknownNames(unknown, 'parameter of this path'))
  }
  return { ...endpoint, handle }
}

/** Routes that share a path in front, a way to tell who calls, and the bodies that they take. */
export type Surface<Caller> = {
  readonly name: string
  readonly prefix: string
  readonly bodies: ReadonlyArray<'json' | 'form'>
  /**
   * Contract 7 answers invalid JSON with an error string; the submission of a lead names every problem in an errors
   * list.
   */
  readonly invalidJson: Problem
  /** Asked before the body is read: of a caller who is turned away nothing is parsed. */
  readonly authenticate: (incoming: TaskEither<Problem, HasRequest>) => TaskEither<Problem, Caller>
  readonly endpoints: ReadonlyArray<Endpoint<Caller>>
}
