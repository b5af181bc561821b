import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A stored event exactly as some version of the service wrote it. */
type Golden = { readonly name: string; readonly type: string; readonly version: number; readonly data: unknown }

const directory = join(process.cwd(), 'test', 'golden')

/**
 * Every golden file, `<EventType>.v<version>.json`, or `….v<version>-<what>.json` where a version has optional parts.
 */
export const goldenEvents = (): ReadonlyArray<Golden> =>
  readdirSync(directory).map((file) => {
    const [name = '', type = '', version = ''] = /^(\w+)\.v(\d+)(?:-\w+)?\.json$/.exec(file) ?? []
    const stored = JSON.parse(readFileSync(join(directory, file), 'utf8')) as { type: string; data: unknown }
    if (stored.type !== type) throw new Error(`${file} holds another event type`)
    return { name, type, version: Number(version), data: stored.data }
  })
