import { hash } from 'node:crypto'

/** All that can be observed of a simulation, in order. The same seed gives the same lines. */
export type Trace = {
  readonly lines: ReadonlyArray<string>
  readonly note: (line: string) => void
  /** SHA-256 of the lines. */
  readonly digest: () => string
}

/** Each line begins with the time that `now` gives. */
export const openTrace = (now: () => string): Trace => {
  const lines: Array<string> = []
  return {
    lines,
    note: (line) => {
      lines.push(`${now()} ${line}`)
    },
    digest: () => hash('sha256', lines.join('\n')),
  }
}
