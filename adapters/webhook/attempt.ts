import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { WebhookTimes } from '../../projections/delivery/sender.js'
import { HeldBody } from './held-body.js'
import { noConnection, noResponse, noStatus } from './reason.js'

/** Contract 6.6.1: 3 s to connect, name look-up and TLS included, then 3 s more for the whole response. */
const connectTimeout = 3_000
const responseTimeout = 3_000

/** Bytes that are read of a response at most, its headers and all that comes before them included. */
const longestResponse = 16_384

type Times = { -readonly [Step in keyof WebhookTimes]: WebhookTimes[Step] }

/** One attempt: its clocks, its connection, what it may read, and when its steps were done. */
export class Attempt {
  /** The status has come, and decides. */
  isAnswered = false
  readonly #started = performance.now()
  readonly #ending = new AbortController()
  readonly #times: Times = { dns: null, connect: null, tls: null, firstByte: null, total: 0 }
  #alarm: NodeJS.Timeout | undefined
  #endedBy: string | undefined
  #isOver = false
  #connection: Socket | undefined
  #isKept = false
  #stands = false
  #body: HeldBody | undefined
  #received = 0

  constructor() {
    this.#connectInTime()
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Why it was broken off; undefined when it was not. */
  get endedBy(): string | undefined {
    return this.#endedBy
  }

  get times(): WebhookTimes {
    return { ...this.#times, total: this.#now() }
  }

  /** The connection stands, and what secures it does not yet. */
  get isSecuring(): boolean {
    return this.#times.connect !== null && !this.#stands
  }

  /**
   * The receiver closed a kept connection before a byte of the request was sent: nothing of it can have been processed, so
   * another connection may be tried at once. Had a byte been sent, nobody could tell a receiver that never read it from one
   * that acted on it and died; then the attempt fails, and the delivery comes again in its own time.
   */
  get isStale(): boolean {
    return this.#isKept && this.#body?.isReleased === false && this.#endedBy === undefined
  }

  /** The body of the request that asks for a connection next. */
  begin(text: string): HeldBody {
    if (this.#isKept) this.#connectInTime()
    this.#isKept = false
    this.#stands = false
    this.#body = new HeldBody(text)
    return this.#body
  }

  did(step: 'dns' | 'connect' | 'tls'): void {
    this.#times[step] = this.#now()
  }

  connectsBy(connection: Socket): void {
    this.#connection = connection
    this.#body?.release()
  }

  /** The new connection stands, and from now on the response has to come in time. */
  connected(): void {
    this.#stands = true
    this.#endAt(performance.now() + responseTimeout, noResponse)
  }

  /**
   * Takes a connection that was kept, and sends nothing before the event loop has asked the system about it once more: the
   * receiver may have closed it since it was used.
   */
  takes(connection: Socket): void {
    this.#connection = connection
    this.#isKept = true
    this.connected()
    const body = this.#body
    setImmediate(() => setImmediate(() => body?.destroyed === false && body.release()))
  }

  /** So many bytes came from the receiver. */
  received(length: number, connection: Socket): void {
    const isAwaited = connection === this.#connection && this.#body?.isReleased === true && !this.#isOver
    // Whoever sends without being asked would answer the next request before it is made.
    if (!isAwaited) {
      connection.destroy()
      return
    }
    this.#times.firstByte ??= this.#now()
    this.#received += length
    // Not before these bytes have been read: they may hold the status.
    if (this.#received > longestResponse) queueMicrotask(() => this.#breakOff(noStatus))
  }

  /** A connection is gone, and node-fetch does not notice it where the response switches to another protocol. */
  lost(connection: Socket): void {
    setImmediate(() => {
      if (connection === this.#connection && !this.isAnswered) this.#breakOff('no response (closed)')
    })
  }

  /** Leaves nothing behind but a connection that can be used again. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#alarm)
    const isSent = this.#body?.readableEnded === true && this.#connection?.writableLength === 0
    // A response may be whole before the request is.
    if (!isSent) this.#connection?.destroy()
  }

  #connectInTime(): void {
    this.#endAt(this.#started + connectTimeout, noConnection)
  }

  /** Timers may ring a little early. */
  #endAt(deadline: number, reason: string): void {
    clearTimeout(this.#alarm)
    this.#alarm = setTimeout(
      () => {
        if (performance.now() < deadline) this.#endAt(deadline, reason)
        else this.#breakOff(reason)
      },
      Math.ceil(deadline - performance.now()),
    )
  }

  #breakOff(reason: string): void {
    if (this.#isOver) return
    this.#endedBy ??= reason
    this.#ending.abort()
  }

  #now(): number {
    return Math.round(performance.now() - this.#started)
  }
}
