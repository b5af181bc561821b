/** All that can be observed of a simulation, in order. The same seed gives the same lines. */
export type Trace = {
  readonly lines: ReadonlyArray<string>
  readonly note: (line: string) => void
}

/** Each line begins with the time that `now` gives. */
export const openTrace = (now: () => string): Trace => {
  const lines: Array<string> = []
  return {
    lines,
    note: (line) => {
      lines.push(`${now()} ${line}`)
    },
  }
}
