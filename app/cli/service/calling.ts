import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { nothingAtPath } from '../../http/problem.js'
import { toldReason } from '../run.js'
import type { Call, Called } from './service-call.js'

export type Body = Readonly<Record<string, unknown>>

/** Lets `use` call the service of these settings, and says in one sentence why it could not. */
export const calling = async (
  config: Config,
  roles: Config['roles'],
  use: (call: Call, isOwn: boolean) => Promise<Either<string, undefined>>,
): Promise<Either<string, undefined>> => {
  try {
    const { withService } = await import('./running-service.js')
    return await withService(config, roles, use)
  } catch (error) {
    return E.left(`${toldReason(error)}.`)
  }
}

/** The body of an answer that is no problem. */
export const answered = async (
  call: Call,
  method: 'GET' | 'POST',
  path: string,
  sent?: Body,
): Promise<Either<string, Body>> => {
  const called = await call(method, path, sent)
  return E.isLeft(called) ? called : bodyOf(called.right)
}

export const bodyOf = (called: Called): Either<string, Body> => {
  if (takesNoRequests(called)) {
    return E.left(
      "The process that listens there doesn't take this request: its ROLES lack api, or its version is an earlier one.",
    )
  }
  const body = (called.body ?? {}) as Body
  if (called.status < 300) return E.right(body)
  const reason = [body['error'], body['message'], body['errors']].find((one) => one !== undefined)
  return E.left(`The service answers ${called.status}: ${JSON.stringify(reason)}.`)
}

/** Without the role `api` a process has no endpoint that a command calls, and an earlier version lacks some. */
export const takesNoRequests = ({ status, body }: Called): boolean =>
  status === 404 && (body as Body | null)?.['message'] === nothingAtPath.message
