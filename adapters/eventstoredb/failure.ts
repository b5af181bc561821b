import { convertToCommandError, ErrorType, isCommandError } from '@eventstore/db-client'
import type { Conflict, StoreFailure } from '../../domain/ports.js'
import { StoreFailed } from '../../domain/store-failed.js'

/**
 * What an error of the driver means to a caller. `again`: the outcome is unknown or nothing was done, so the same is asked
 * once more, a write with the same ids at the same revision. `isBroken`: the client itself may never recover.
 */
export type Meaning =
  | { readonly kind: 'again'; readonly reason: string; readonly isBroken: boolean }
  | { readonly kind: 'final'; readonly failure: StoreFailure | Conflict }
  | { readonly kind: 'missing' }

/** A read ended before it was whole, because its client was disposed of. */
export class CutOff extends Error {}

/** gRPC statuses of a connection that is gone, a call that was given up and a server that is not ready: they pass. */
const passing: ReadonlySet<number | undefined> = new Set([1, 4, 8, 10, 14])

const busy = /server is not ready|busy|no leader info|failed to discover/i

/** What a server refuses in words that the driver does not know, and refuses as often as it is asked. */
const refused = /could not recognize (badrequest|maximumappendeventsizeexceeded)/i

export const meaningOf = (error: unknown): Meaning => {
  if (error instanceof StoreFailed) return { kind: 'final', failure: { kind: 'corrupt', reason: error.message } }
  if (error instanceof CutOff) return silence
  // A driver's message may hold a stream's name or an address; its type and status never hold a value.
  const known = error instanceof Error ? commandErrorOf(error) : undefined
  const type = known?.type ?? 'error'
  const reason = `the event store answered ${type}${known?.code === undefined ? '' : ` (${known.code})`}`
  switch (known?.type) {
    case ErrorType.WRONG_EXPECTED_VERSION:
      return { kind: 'final', failure: { kind: 'conflict' } }
    case ErrorType.STREAM_NOT_FOUND:
      return { kind: 'missing' }
    case ErrorType.STREAM_DELETED:
      return { kind: 'final', failure: { kind: 'corrupt', reason: 'the stream was deleted for ever' } }
    case ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED:
    case ErrorType.INVALID_ARGUMENT:
    case ErrorType.MISSING_REQUIRED_METADATA_PROPERTY:
      return { kind: 'final', failure: { kind: 'corrupt', reason } }
    case ErrorType.ACCESS_DENIED:
    case ErrorType.UNSUPPORTED:
      return { kind: 'final', failure: { kind: 'unavailable', reason } }
    case ErrorType.NOT_LEADER:
    case ErrorType.TIMEOUT:
    case ErrorType.DEADLINE_EXCEEDED:
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return { kind: 'again', reason, isBroken: false }
    default: {
      if (error instanceof Error && refused.test(error.message))
        return { kind: 'final', failure: { kind: 'corrupt', reason } }
      // The driver keeps the failure of its first call to the server for ever where it knows no better (reference 0.9).
      const isPassing = passing.has(known?.code) || (error instanceof Error && busy.test(error.message))
      return { kind: 'again', reason, isBroken: !isPassing }
    }
  }
}

/** A call that brought no answer in time. */
export const silence: Meaning = { kind: 'again', reason: 'the event store did not answer in time', isBroken: false }

type Known = { readonly type: ErrorType; readonly code?: number }

const commandErrorOf = (error: Error): Known | undefined => {
  if (isCommandError(error)) return error
  // The first call of a client rejects with what the transport says, not with an error of the driver (reference 0.8).
  const { code, details } = error as { readonly code?: unknown; readonly details?: unknown }
  // Other errors have numbers too, and the driver's conversion throws where there are no details.
  const isOfTransport = typeof code === 'number' && typeof details === 'string'
  return isOfTransport ? (convertToCommandError(error) as Known) : undefined
}
