import {
  AccessDeniedError,
  CancelledError,
  DeadlineExceededError,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  NoStreamError,
  NotLeaderError,
  RequiredMetadataPropertyMissingError,
  StreamDeletedError,
  StreamNotFoundError,
  TimeoutError,
  UnavailableError,
  UnknownError,
  UnsupportedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import { Metadata, status } from '@grpc/grpc-js'
import test from 'ava'
import {
  classify,
  ReadInterrupted,
  ServerTooOld,
  timedOut,
  type ErrorClass,
} from '../../../adapters/eventstoredb/client/error-classification.js'

/** Stands in every name, value and message of the errors here: where it is met, it leaked. */
const secret = 'Ada-4155550001'
const stream = `contact-${secret}`

/** What the transport says; `exception` and the other keys are how the driver learns which error of its own it is. */
const serviceError = (code: status, keys: Readonly<Record<string, string>> = {}) => {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(keys)) metadata.set(key, value)
  const details = `it went wrong with ${secret}`
  return Object.assign(new Error(`${code} ERROR: ${details}`), { code, details, metadata })
}

const leader = { exception: 'not-leader', 'leader-endpoint-host': secret, 'leader-endpoint-port': '2113' }
const missingProperty = { 'required-metadata-properties': secret }

const retryable = (reason: string, isClientBroken: boolean): ErrorClass => ({
  kind: 'retryable',
  reason: `the event store answered ${reason}`,
  isClientBroken,
})
const permanent = (kind: 'corrupt' | 'unavailable', reason: string): ErrorClass => ({
  kind: 'permanent',
  failure: { kind, reason: `the event store answered ${reason}` },
})
const refused = (what: string): ErrorClass => ({
  kind: 'permanent',
  failure: { kind: 'unavailable', reason: `the event store ${what}`, needsOperator: true },
})
const conflict: ErrorClass = { kind: 'permanent', failure: { kind: 'conflict' } }
const notFound: ErrorClass = { kind: 'not-found' }
const tooOld = refused('is too old: it must be EventStoreDB 23.10 or later')
const deleted: ErrorClass = {
  kind: 'permanent',
  failure: { kind: 'corrupt', reason: 'the stream was deleted for ever' },
}

const wrongVersion = new WrongExpectedVersionError(undefined, { streamName: stream, expected: 3n, current: 4n })

const errors: ReadonlyArray<readonly [name: string, error: unknown, expected: ErrorClass]> = [
  ['another revision', wrongVersion, conflict],
  ['a missing stream', new StreamNotFoundError(undefined, stream), notFound],
  ['a stream with a tombstone', new StreamDeletedError(undefined, stream), deleted],
  [
    'too many bytes',
    new MaxAppendSizeExceededError(undefined, 1024),
    permanent('corrupt', 'maximum-append-size-exceeded'),
  ],
  ['a bad argument', new InvalidArgumentError(`no ${secret}`), permanent('corrupt', 'invalid-argument')],
  [
    'a missing property',
    new RequiredMetadataPropertyMissingError(serviceError(status.INVALID_ARGUMENT, missingProperty)),
    permanent('corrupt', 'missing-required-metadata-property (3)'),
  ],
  [
    'no access',
    new AccessDeniedError(serviceError(status.UNAUTHENTICATED)),
    refused('refuses the user or the password'),
  ],
  ['an old server', new UnsupportedError(secret, '21.10'), tooOld],
  ['a call that the server does not know', new UnknownError(serviceError(status.UNIMPLEMENTED)), tooOld],
  ['a raw call that the server does not know', serviceError(status.UNIMPLEMENTED), tooOld],
  ['a server whose subscriptions do not say when they have caught up', new ServerTooOld(), tooOld],
  [
    'a page of a proxy that is not there',
    new UnknownError(undefined, '12 UNIMPLEMENTED: Received HTTP status code 404'),
    { kind: 'retryable', reason: 'what answers there is no event store (HTTP 404)', isClientBroken: true },
  ],
  ['a follower', new NotLeaderError(serviceError(status.NOT_FOUND, leader)), retryable('not-leader (5)', false)],
  ['a timeout', new TimeoutError(serviceError(status.ABORTED)), retryable('timeout (10)', false)],
  ['an in-band timeout', new TimeoutError(), retryable('timeout', false)],
  [
    'a deadline',
    new DeadlineExceededError(serviceError(status.DEADLINE_EXCEEDED)),
    retryable('deadline-exceeded (4)', false),
  ],
  ['a lost connection', new UnavailableError(serviceError(status.UNAVAILABLE)), retryable('unavailable (14)', false)],
  ['a cancelled call', new CancelledError(serviceError(status.CANCELLED)), retryable('cancelled (1)', false)],
  ['an internal error', new UnknownError(serviceError(status.INTERNAL)), retryable('unknown (13)', true)],
  ['an unknown error', new UnknownError(serviceError(status.UNKNOWN)), retryable('unknown (2)', true)],
  ['an overloaded server', new UnknownError(serviceError(status.RESOURCE_EXHAUSTED)), retryable('unknown (8)', false)],
  [
    'a server that starts',
    new UnknownError(undefined, `Could not recognize Server Is Not Ready ${secret}`),
    retryable('unknown', false),
  ],
  ['a busy server', new UnknownError(undefined, 'Could not recognize Server Is Too Busy'), retryable('unknown', false)],
  [
    'an election',
    new UnknownError(undefined, 'Could not recognize No leader info available in response'),
    retryable('unknown', false),
  ],
  [
    'a request that no repetition makes better',
    new UnknownError(undefined, `Could not recognize BadRequest ${secret}`),
    permanent('corrupt', 'unknown'),
  ],
  [
    'an event that is too big for a newer server',
    new UnknownError(undefined, `Could not recognize MaximumAppendEventSizeExceeded ${secret}`),
    permanent('corrupt', 'unknown'),
  ],
  ['an error that our calls never meet', new NoStreamError(), retryable('no-stream', true)],
  ['a raw lost connection', serviceError(status.UNAVAILABLE), retryable('unavailable (14)', false)],
  ['a raw cancelled call', serviceError(status.CANCELLED), retryable('cancelled (1)', false)],
  ['a raw deadline', serviceError(status.DEADLINE_EXCEEDED), retryable('deadline-exceeded (4)', false)],
  ['a raw abort', serviceError(status.ABORTED), retryable('timeout (10)', false)],
  ['a raw internal error', serviceError(status.INTERNAL), retryable('unknown (13)', true)],
  ['a raw refusal', serviceError(status.UNAUTHENTICATED), refused('refuses the user or the password')],
  ['a raw follower', serviceError(status.NOT_FOUND, leader), retryable('not-leader (5)', false)],
  ['no member of the cluster', new Error(`Failed to discover after 10 attempts. ${secret}`), retryable('error', false)],
  ['an error of nobody', new TypeError(`${secret} is not iterable`), retryable('error', true)],
  ['an aborted read', new DOMException(secret, 'AbortError'), retryable('error', true)],
  [
    'an error of the transport without its details',
    Object.assign(new Error(secret), { code: 13 }),
    retryable('error', true),
  ],
  ['a read that was interrupted', new ReadInterrupted(), timedOut],
  ['no error at all', secret, retryable('error', true)],
]

for (const [name, error, expected] of errors) {
  test(`${name} is classified, and told without the words of its error`, (t) => {
    const found = classify(error)
    t.deepEqual(found, expected)
    t.false(JSON.stringify(found).includes(secret))
  })
}

test('a call that timed out is retried on the same client', (t) => {
  t.like(timedOut, { kind: 'retryable', isClientBroken: false })
})
