import { Metadata, status } from '@grpc/grpc-js'

/** How a call ends that does not end well. */
export type CallStatus = { readonly code: number; readonly details: string; readonly metadata: Metadata }

/** The client tells its errors apart by `exception`, and takes their fields from the other keys. */
const statusOf = (code: number, details: string, keys: Readonly<Record<string, string>> = {}): CallStatus => {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(keys)) metadata.set(key, value)
  return { code, details, metadata }
}

export const refused = (code: number): CallStatus => statusOf(code, `Refused with ${code}`)

export const unavailable = (): CallStatus => statusOf(status.UNAVAILABLE, 'Connection dropped')

export const tooSlow = (): CallStatus =>
  statusOf(status.ABORTED, 'Consumer too slow to handle event while live. Client resubscription required.')

export const notLeader = (host: string, port: number): CallStatus =>
  statusOf(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  })

export const streamDeleted = (stream: string): CallStatus =>
  statusOf(status.FAILED_PRECONDITION, `Event stream '${ascii(stream)}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': ascii(stream),
  })

export const wrongVersion = (stream: string, expected: number, actual: number): CallStatus =>
  statusOf(
    status.FAILED_PRECONDITION,
    `Append failed due to WrongExpectedVersion. Stream: ${ascii(stream)}, Expected version: ${expected}`,
    {
      exception: 'wrong-expected-version',
      'stream-name': ascii(stream),
      'expected-version': String(expected),
      'actual-version': String(actual),
    },
  )

export const tooBig = (limit: number): CallStatus =>
  statusOf(status.INVALID_ARGUMENT, `Maximum Append Size of ${limit} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(limit),
  })

export const tooLate = (): CallStatus => statusOf(status.DEADLINE_EXCEEDED, 'Deadline exceeded')

export const badRequest = (): CallStatus => statusOf(status.UNKNOWN, 'Exception was thrown by handler.')

/** What a read answers that the log can't do: END forwards, no events at all, a position where none stands. */
export const unexpectedRead = (details: string): CallStatus => statusOf(status.UNKNOWN, details)

/** A header holds nothing else. */
const ascii = (text: string): string => text.replace(/[^\x20-\x7e]/gu, encodeURIComponent)
