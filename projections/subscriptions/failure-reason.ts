/** The message of whatever was thrown, for a log line: no error of ours holds a value of an event. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
