import type { Either } from '../../domain/prelude.js'
import type { Answer, Problem } from './problem.js'

/** What a handler sees of a request: nothing of Koa. */
export type Request = {
  readonly params: Readonly<Record<string, string>>
  /** Undefined where the parameter is missing or given twice. */
  readonly query: (name: string) => string | undefined
  readonly header: (name: string) => string | undefined
  /** The decoded body; undefined for requests without one. */
  readonly body: unknown
}

/** One route as data. `path` may hold parameters (`/contacts/:id`). */
export type Endpoint<Caller> = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly handle: (request: Request, caller: Caller) => Promise<Either<Problem, Answer>>
}

/** Routes that share a path in front, a way to tell who calls, and the bodies that they take. */
export type Surface<Caller> = {
  readonly name: string
  readonly prefix: string
  readonly bodies: ReadonlyArray<'json' | 'form'>
  /** Contract 7 answers invalid JSON with an error string; the submission of a lead with an errors list (design 7). */
  readonly invalidJson: Problem
  readonly authenticate: (request: Request) => Promise<Either<Problem, Caller>>
  readonly endpoints: ReadonlyArray<Endpoint<Caller>>
}
