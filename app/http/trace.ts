/** What a log line tells of an error: its kind and where it came from. Its message may hold a value, so it stays out. */
export const traceOf = (error: unknown): { readonly error: string; readonly at: ReadonlyArray<string> } => {
  if (!(error instanceof Error)) return { error: typeof error, at: [] }
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  return { error: error.name, at: frames.slice(0, 4).map((line) => line.trim()) }
}
