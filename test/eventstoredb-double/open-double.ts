import { EventStoreDBClient, jsonEvent, type EventData } from '@eventstore/db-client'
import type { ExecutionContext } from 'ava'
import { startDouble, type EventStoreDouble } from './double.js'
import type { Version } from './version.js'

export type Opened = { readonly double: EventStoreDouble; readonly client: EventStoreDBClient }

/**
 * A double of a test's own, and a client of it. Tests of one process must take turns: the client rejects what is in
 * flight on all of its kind when one of them is disposed of.
 */
export const openDouble = async (t: ExecutionContext, version: Version = '24.10'): Promise<Opened> => {
  const double = await startDouble({ version })
  t.teardown(double.stop)
  return { double, client: clientOf(t, double.url) }
}

export const clientOf = (t: ExecutionContext, url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url)
  t.teardown(client.dispose)
  return client
}

export const event = (type = 'Noted', data: Readonly<Record<string, unknown>> = {}): EventData =>
  jsonEvent({ type, data })

export const many = (count: number): Array<EventData> => Array.from({ length: count }, (_, n) => event('Noted', { n }))

export const collect = async <A>(from: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for await (const one of from) all.push(one)
  return all
}
