import { convertToCommandError, ErrorType, isCommandError } from '@eventstore/db-client'
import type { Conflict, StoreFailure } from '../../../domain/ports.js'
import { tlsRefusal } from '../../node/tls-refusal.js'
import { NotAppended, TooManyUnanswered } from './appends-in-flight.js'

/**
 * What is to be done about an error. `retryable`: nothing was done, or nobody knows whether it was, so the call is
 * repeated, an append with the same ids at the same revision. `isClientBroken`: the client of the driver may never
 * recover.
 */
export type ErrorClass =
  | { readonly kind: 'retryable'; readonly reason: string; readonly isClientBroken: boolean }
  | { readonly kind: 'permanent'; readonly failure: StoreFailure | Conflict }
  | { readonly kind: 'not-found' }

/** A read ended before it was complete, because its client was disposed of. */
export class ReadInterrupted extends Error {}

/**
 * The server is of a line whose subscriptions do not say when they have caught up, which ends each read of the history.
 */
export class ServerTooOld extends Error {}

/** A call that brought no answer in time. */
export const timedOut = {
  kind: 'retryable',
  reason: 'the event store did not answer in time',
  isClientBroken: false,
} as const

/**
 * gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED and UNAVAILABLE: the same client recovers from them.
 */
const transientStatuses: ReadonlySet<number | undefined> = new Set([1, 4, 8, 10, 14])

/** gRPC's UNIMPLEMENTED: the driver makes a type of its own of it for calls of persistent subscriptions alone. */
const unknownCall = 12

/**
 * What gRPC says of a page that is not there: of a proxy that has no server behind it, which the status takes for an
 * unknown call.
 */
const noSuchPage = /received http status code 404/i

/** What a server that starts, is overloaded or elects a leader answers in words, with a status that says nothing. */
const transientMessage = /server is not ready|busy|no leader info|failed to discover/i

/** Refusals of the server that this driver has no type for, and that no repetition changes. */
const permanentMessage = /could not recognize (badrequest|maximumappendeventsizeexceeded)/i

/** The one place where errors of the driver become failures of the port. */
export const classify = (error: unknown): ErrorClass => {
  if (error instanceof ReadInterrupted) return timedOut
  if (error instanceof ServerTooOld) return tooOld
  if (error instanceof NotAppended) return { kind: 'permanent', failure: { kind: 'conflict' } }
  // Only another client lets go of them.
  if (error instanceof TooManyUnanswered) return { ...timedOut, isClientBroken: true }
  // A message of the driver may hold a stream's name or an address; its type and status never hold a value.
  const known = error instanceof Error ? commandErrorOf(error) : undefined
  const type = known?.type ?? 'error'
  const reason = `the event store answered ${type}${known?.code === undefined ? '' : ` (${known.code})`}`
  switch (known?.type) {
    case ErrorType.WRONG_EXPECTED_VERSION:
      return { kind: 'permanent', failure: { kind: 'conflict' } }
    case ErrorType.STREAM_NOT_FOUND:
      return { kind: 'not-found' }
    case ErrorType.STREAM_DELETED:
      return { kind: 'permanent', failure: { kind: 'corrupt', reason: 'the stream was deleted for ever' } }
    case ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED:
    case ErrorType.INVALID_ARGUMENT:
    case ErrorType.MISSING_REQUIRED_METADATA_PROPERTY:
      return { kind: 'permanent', failure: { kind: 'corrupt', reason } }
    case ErrorType.ACCESS_DENIED:
      return refusal('the event store refuses the user or the password')
    case ErrorType.UNSUPPORTED:
      return tooOld
    case ErrorType.NOT_LEADER:
    case ErrorType.TIMEOUT:
    case ErrorType.DEADLINE_EXCEEDED:
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return transportRefusal(error) ?? { kind: 'retryable', reason, isClientBroken: false }
    default: {
      if (error instanceof Error && noSuchPage.test(error.message)) return noEventStore
      if (known?.code === unknownCall) return tooOld
      if (error instanceof Error && permanentMessage.test(error.message))
        return { kind: 'permanent', failure: { kind: 'corrupt', reason } }
      const isTransient =
        transientStatuses.has(known?.code) || (error instanceof Error && transientMessage.test(error.message))
      // An unknown error of a client's first call is one that the driver caches: all later appends of that client fail
      // too.
      return { kind: 'retryable', reason, isClientBroken: !isTransient }
    }
  }
}

const noEventStore = {
  kind: 'retryable',
  reason: 'what answers there is no event store (HTTP 404)',
  isClientBroken: true,
} as const

const refusal = (reason: string): ErrorClass => ({
  kind: 'permanent',
  failure: { kind: 'unavailable', reason, needsOperator: true },
})

const tooOld = refusal('the event store is too old: it must be EventStoreDB 23.10 or later')

const transportRefusal = (error: unknown): ErrorClass | undefined => {
  const known = error instanceof Error ? tlsRefusal(error.message) : undefined
  return known === undefined ? undefined : refusal(`the event store ${known}`)
}

type KnownError = { readonly type: ErrorType; readonly code?: number }

const commandErrorOf = (error: Error): KnownError | undefined => {
  if (isCommandError(error)) return error
  // The first call of a client rejects with the error of the transport, not with one of the driver.
  const { code, details } = error as { readonly code?: unknown; readonly details?: unknown }
  // Other errors have codes too, and the driver's conversion throws where there are no details.
  const isOfTransport = typeof code === 'number' && typeof details === 'string'
  return isOfTransport ? (convertToCommandError(error) as KnownError) : undefined
}
