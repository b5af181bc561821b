import type { Request, HasRequest } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { bind } from '../http/steps.js'
import { TE, type TaskEither } from '../../domain/prelude.js'
import type { TextProvider } from '../../domain/text-provider.js'
import { wellFormed } from '../../domain/well-formed.js'

const forbidden: Problem = { kind: 'forbidden', message: 'the signature is not that of the provider' }

/** Adds the `form` of a request that the provider signed; the signature is over the path, too. */
export const withSignedForm = <Context extends HasRequest>(
  { isSigned }: Pick<TextProvider, 'isSigned'>,
  pathOf: (request: Request) => string,
) =>
  bind('form', ({ request }: Context): TaskEither<Problem, URLSearchParams> => {
    const isGenuine = isSigned(pathOf(request), formFrom(request.body), request.header)
    return isGenuine ? TE.right(formFrom(wellFormed(request.body))) : TE.left(forbidden)
  })

/** A field that comes twice is a list in the body. */
const formFrom = (body: unknown): URLSearchParams =>
  new URLSearchParams(
    Object.entries((body ?? {}) as Readonly<Record<string, string | ReadonlyArray<string>>>).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  )
