/** The words of whatever was thrown, for a log line: what we throw holds no value of an event. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
