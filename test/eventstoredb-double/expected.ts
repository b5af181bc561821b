/** Where a writer says that its stream ends; a number is the revision of the last event. */
export type Expected = 'any' | 'no-stream' | 'stream-exists' | number

/** Does what an expectation asks for: each message of the protocol has a field of its own for each of them. */
export const byExpected = <A>(
  expected: Expected,
  cases: {
    readonly any: () => A
    readonly noStream: () => A
    readonly streamExists: () => A
    readonly revision: (revision: string) => A
  },
): A => {
  switch (expected) {
    case 'any':
      return cases.any()
    case 'no-stream':
      return cases.noStream()
    case 'stream-exists':
      return cases.streamExists()
    default:
      return cases.revision(String(expected))
  }
}
