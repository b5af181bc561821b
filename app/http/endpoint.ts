import type { TaskEither } from '../../domain/prelude.js'
import type { Answer, Problem } from './problem.js'

/** What an endpoint sees of a request: nothing of Koa. */
export type Request = {
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  /**
   * Undefined where the parameter is missing. Blank, which no parameter may be, where it is given twice: nobody can
   * tell which one counts.
   */
  readonly query: (name: string) => string | undefined
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
