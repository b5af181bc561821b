type Trace = { readonly error: string; readonly code?: string; readonly at: ReadonlyArray<string> }

/** A line of a stack that names a place: a line of the message, which stands before them, may begin as they do. */
const frame = /^\s+at .*\.\w+:\d+:\d+\)?$/

/**
 * What a log line tells of an error: its kind, and where it came from. Its message may hold a value, so it stays out.
 */
export const traceOf = (error: unknown): Trace => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] }
  const frames = (error.stack ?? '').split('\n').filter((line) => frame.test(line))
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { error: error.name, ...code, at: frames.slice(0, 4).map((line) => line.trim()) }
}
