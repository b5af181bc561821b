import { hash } from 'node:crypto'
import type { Position } from '../../../domain/event.js'
import type { WebhookId } from '../../../domain/ids.js'
import type { WebhookClient } from '../../../projections/delivery/webhook-client.js'
import type { Life } from './life.js'
import type { Trace } from './trace.js'
import type { ManualClock } from '../time/manual-clock.js'

/** A request as it arrived. */
export type Arrival = {
  readonly life: number
  readonly webhookId: WebhookId
  /** The id of the delivery, the same on every attempt. */
  readonly id: string
  /** SHA-256 of the body. */
  readonly digest: string
  /** Milliseconds since 1970. */
  readonly time: number
  /** Unix time in seconds, as the request says. */
  readonly timestamp: number
  /** The head of the log. */
  readonly head: Position
  /** Requests that this life has open to the webhook, this one included. */
  readonly open: number
  readonly delivered: boolean
  /** Milliseconds until the receiver answers. */
  readonly takes: number
}

/** `status` is null where no response comes; `takes` milliseconds. */
export type Answer = { readonly status: number | null; readonly takes: number }

/** What the receiver of a webhook answers to its `nth` request, from 1 on. */
export type Answering = (webhookId: WebhookId, nth: number) => Answer

type ReceiverPorts = {
  readonly answer: Answering
  readonly clock: ManualClock
  readonly trace: Trace
  readonly head: () => Position
}

/** The customers' systems. What arrived there stays, whatever becomes of the process that sent it. */
type Receivers = {
  readonly arrivals: ReadonlyArray<Arrival>
  readonly clientIn: (life: Life) => WebhookClient
}

const host = 'https://receiver.example/'

export const urlOf = (webhookId: WebhookId): string => `${host}${webhookId}`

export const openReceivers = ({ answer, clock, trace, head }: ReceiverPorts): Receivers => {
  const arrivals: Array<Arrival> = []
  const counts = new Map<WebhookId, number>()

  return {
    arrivals,
    clientIn: (life) => {
      const open = new Map<WebhookId, number>()
      const add = (webhookId: WebhookId, change: number): number => {
        const now = (open.get(webhookId) ?? 0) + change
        open.set(webhookId, now)
        return now
      }
      return {
        send: ({ url, id, body, timestamp, token, signature }) =>
          life.serve(async () => {
            const webhookId = url.slice(host.length) as WebhookId
            const nth = (counts.get(webhookId) ?? 0) + 1
            counts.set(webhookId, nth)
            const { status, takes } = answer(webhookId, nth)
            const delivered = status !== null && status >= 200 && status < 300
            const arrival: Arrival = {
              life: life.number,
              webhookId,
              id,
              digest: hash('sha256', body),
              time: clock.time(),
              timestamp,
              head: head(),
              open: add(webhookId, 1),
              delivered,
              takes,
            }
            arrivals.push(arrival)
            trace.note(`life ${life.number} posts ${id} to ${url}, body ${arrival.digest}, ${token}, ${signature}`)
            await clock.sleep(takes)
            add(webhookId, -1)
            trace.note(`life ${life.number} has posted ${id}: ${status ?? 'no response'} after ${takes} ms`)
            return {
              delivered,
              status,
              reason: status === null ? 'timeout' : `HTTP ${status}`,
              durationMs: takes,
            }
          }),
      }
    },
  }
}
