type Trace = { readonly error: string; readonly code?: string; readonly at: ReadonlyArray<string> }

/** What a log line tells of an error: its kind, and where it came from. Its message may hold a value, so it stays out. */
export const traceOf = (error: unknown): Trace => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] }
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { error: error.name, ...code, at: frames.slice(0, 4).map((line) => line.trim()) }
}
