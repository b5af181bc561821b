/** The message of whatever was thrown, for a log line: no error of ours holds a value of an event. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The name of whatever was thrown; its message may hold a value. */
export const exceptionName = (error: unknown): string =>
  `an exception (${error instanceof Error ? error.name : typeof error})`
