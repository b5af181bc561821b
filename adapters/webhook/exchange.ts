import type { Socket } from 'node:net'
import type { MonotonicClock } from '../../domain/ports.js'
import type { WebhookTimes } from '../../projections/delivery/webhook-client.js'
import type { Deadlines, Limited } from './deadlines.js'
import { DeferredBody } from './deferred-body.js'
import { noConnection, noResponse, noStatus } from './reason.js'

/** Contract 6.6.1: 3 s to connect, name look-up and TLS included, then 3 s more for the whole response. */
const connectTimeout = 3_000
const responseTimeout = 3_000

/** Bytes that are read of a response at most, its headers and all that comes before them included. */
const largestResponse = 16_384

type Times = { -readonly [Step in keyof WebhookTimes]: WebhookTimes[Step] }

/**
 * One request to a receiver and its response: its timeouts, its connection, how much it may read, and when its steps
 * were done.
 */
export class Exchange implements Limited {
  /** The status has come, and decides. */
  isAnswered = false
  readonly #monotonic: Pick<MonotonicClock, 'now'>
  readonly #deadlines: Deadlines
  readonly #startedAt: number
  readonly #aborting = new AbortController()
  readonly #times: Times = { dns: null, connect: null, tls: null, firstByte: null, total: 0 }
  /** What has to be over by the deadline, in the words of an abort. */
  #awaited = noConnection
  #deadline = Number.POSITIVE_INFINITY
  #abortReason: string | undefined
  #isFinished = false
  #connection: Socket | undefined
  #isConnectionReused = false
  #isConnectionReady = false
  #body: DeferredBody | undefined
  #receivedBytes = 0

  constructor(monotonic: Pick<MonotonicClock, 'now'>, deadlines: Deadlines) {
    this.#monotonic = monotonic
    this.#deadlines = deadlines
    this.#startedAt = monotonic.now()
    this.#limitConnecting()
  }

  get deadline(): number {
    return this.#deadline
  }

  handleDeadline(): void {
    this.#abort(this.#awaited)
  }

  get signal(): AbortSignal {
    return this.#aborting.signal
  }

  /** Why it was aborted; undefined when it was not. */
  get abortReason(): string | undefined {
    return this.#abortReason
  }

  get times(): WebhookTimes {
    return { ...this.#times, total: this.#elapsed() }
  }

  /** The TCP connection stands, and TLS is being negotiated. */
  get isSecuring(): boolean {
    return this.#times.connect !== null && !this.#isConnectionReady
  }

  /**
   * The receiver closed a reused connection before a byte of the request was sent: so it has processed nothing of it,
   * and another connection may be tried at once. Had a byte been sent, a receiver that never read it could not be told
   * from one that acted on it and died; then the attempt fails, and the delivery is retried in its own time.
   */
  get isConnectionStale(): boolean {
    return this.#isConnectionReused && this.#body?.isReleased === false && this.#abortReason === undefined
  }

  /** Begins a request, for which a connection is asked next, and returns its body. */
  beginRequest(text: string): DeferredBody {
    if (this.#isConnectionReused) this.#limitConnecting()
    this.#isConnectionReused = false
    this.#isConnectionReady = false
    this.#body = new DeferredBody(text)
    return this.#body
  }

  recordStep(step: 'dns' | 'connect' | 'tls'): void {
    this.#times[step] = this.#elapsed()
  }

  useNewConnection(connection: Socket): void {
    this.#connection = connection
    this.#body?.release()
  }

  /**
   * Sends nothing before the event loop has asked the system about the connection once more: the receiver may have
   * closed it since it was last used.
   */
  reuseConnection(connection: Socket): void {
    this.#connection = connection
    this.#isConnectionReused = true
    this.awaitResponse()
    const body = this.#body
    setImmediate(() => setImmediate(() => body?.destroyed === false && body.release()))
  }

  /** The connection is ready: from now on the response has to come in time. */
  awaitResponse(): void {
    this.#isConnectionReady = true
    this.#limit(this.#monotonic.now() + responseTimeout, noResponse)
  }

  /** Counts bytes that came from the receiver. */
  countReceived(bytes: number, connection: Socket): void {
    const isAwaited = connection === this.#connection && this.#body?.isReleased === true && !this.#isFinished
    // Bytes that nobody asked for would pass for the answer to the next request.
    if (!isAwaited) {
      connection.destroy()
      return
    }
    this.#times.firstByte ??= this.#elapsed()
    this.#receivedBytes += bytes
    // Not before these bytes were parsed: they may hold the status.
    if (this.#receivedBytes > largestResponse) queueMicrotask(() => this.#abort(noStatus))
  }

  /**
   * Aborts when its connection has closed: node-fetch does not notice it where the response switches to another
   * protocol.
   */
  handleClose(connection: Socket): void {
    setImmediate(() => {
      if (connection === this.#connection && !this.isAnswered) this.#abort('no response (closed)')
    })
  }

  /** Nobody waits for the response any more. */
  breakOff(): void {
    this.#abort('broken off')
  }

  /** Closes everything but a connection that can be reused. */
  finish(): void {
    this.#isFinished = true
    this.#deadlines.forget(this)
    const isSent = this.#body?.readableEnded === true && this.#connection?.writableLength === 0
    // A response may be complete before the request is sent.
    if (!isSent) this.#connection?.destroy()
    // Until its connection is used again it stays known as the last that used it, and would keep all of its request.
    this.#connection = undefined
    this.#body = undefined
  }

  #limitConnecting(): void {
    this.#limit(this.#startedAt + connectTimeout, noConnection)
  }

  #limit(deadline: number, awaited: string): void {
    this.#deadline = deadline
    this.#awaited = awaited
    this.#deadlines.watch(this)
  }

  #abort(reason: string): void {
    if (this.#isFinished) return
    this.#abortReason ??= reason
    this.#aborting.abort()
  }

  #elapsed(): number {
    return Math.round(this.#monotonic.now() - this.#startedAt)
  }
}
