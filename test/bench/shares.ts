import { readFileSync } from 'node:fs'

/** A profile of one thread, as Node writes it with `--cpu-prof`. Times in microseconds. */
type CpuProfile = {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
    readonly children?: ReadonlyArray<number>
  }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

type Node = CpuProfile['nodes'][number]

/** What a thread's time is told under. */
const parts = [
  'domain',
  'projections',
  'app',
  'adapters, with SQLite',
  'checks of events and bodies (io-ts, fp-ts)',
  'Koa and the reading of bodies',
  'node-fetch',
  'the driver of EventStoreDB, with gRPC and protobuf',
  'other packages',
  'Node: HTTP, streams, sockets',
  'messages between threads',
  'garbage',
  'native code that has no name',
  'waiting',
] as const

type Part = (typeof parts)[number]

/** Shares of the time from the first to the last sample, by part; together 1. */
export const sharesIn = (file: string): ReadonlyMap<Part, number> => {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, byId.get(id)])))
  const partOf = (node: Node | undefined): Part => {
    if (node === undefined) return 'native code that has no name'
    const { functionName, url } = node.callFrame
    const own = /\/dist\/(domain|projections|app|adapters)\//.exec(url)
    const packageName = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
    if (functionName === 'postMessage' || url === 'node:internal/worker') return 'messages between threads'
    if (packageName !== undefined) return partOfPackage(packageName)
    if (own !== null) return own[1] === 'adapters' ? 'adapters, with SQLite' : (own[1] as Part)
    if (url.startsWith('node:')) return 'Node: HTTP, streams, sockets'
    if (functionName === '(garbage collector)') return 'garbage'
    if (functionName === '(idle)') return 'waiting'
    // What is built in is its caller's.
    return partOf(callers.get(node.id))
  }
  const times = new Map<Part, number>(parts.map((part) => [part, 0]))
  const partOfId = new Map(nodes.map((node) => [node.id, partOf(node)]))
  samples.forEach((id, nth) => {
    const part = partOfId.get(id) ?? 'native code that has no name'
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[nth] ?? 0))
  })
  const all = [...times.values()].reduce((sum, time) => sum + time, 0)
  return new Map([...times].map(([part, time]) => [part, time / all]))
}

const partOfPackage = (name: string): Part => {
  if (['io-ts', 'io-ts-types', 'fp-ts'].includes(name)) return 'checks of events and bodies (io-ts, fp-ts)'
  if (name === 'node-fetch') return 'node-fetch'
  if (name === '@eventstore/db-client' || name === '@grpc/grpc-js' || name === 'google-protobuf')
    return 'the driver of EventStoreDB, with gRPC and protobuf'
  if (name === 'better-sqlite3') return 'adapters, with SQLite'
  const isOfKoa = /koa|-body$|^(type-is|delegates|content-type|accepts|on-finished|@hapi\/bourne)$/.test(name)
  return isOfKoa ? 'Koa and the reading of bodies' : 'other packages'
}
