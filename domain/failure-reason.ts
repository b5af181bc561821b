/** A failure that we state: its message is ours, holds no value of an event or a request, and may be told to anyone. */
export class StatedFailure extends Error {}

/**
 * What may be told of whatever was thrown: in a log line, in health, in the record of a parked event. A failure that we
 * state is told by its message. The message of any other exception may hold a value, so that one is told by its kind
 * and its place.
 */
export const reasonOf = (error: unknown): string => {
  if (error instanceof StatedFailure) return error.message
  if (!(error instanceof Error)) return `an exception (${typeof error})`
  const place = placeOf(error)
  return `an exception (${error.name}${place === undefined ? '' : ` at ${place}`})`
}

/** A line of a stack in our own code. */
const ownFrame = /^[ \t]+at .*(?<!\/test)\/((?:adapters|app|domain|projections)\/[a-z/-]+\.[jt]s:\d{1,4}):\d+\)?$/m

/**
 * File and line of our own code that it came from, as far as its stack says so. The message, which stands before its
 * lines, is left out.
 */
const placeOf = ({ message, stack = '' }: Error): string | undefined => {
  const start = stack.indexOf(message)
  return start === -1 ? undefined : ownFrame.exec(stack.slice(start + message.length))?.[1]
}
