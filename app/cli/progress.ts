import progress from 'cli-progress'

type ProgressBar = { readonly update: (position: number) => void; readonly stop: () => void }

/**
 * How far something has come in the log, on standard error: a bar on a terminal; elsewhere a line at the start, every
 * few seconds and at the end.
 */
export const progressBar = (head: number): ProgressBar => {
  const numbers = '{percentage}% | at {value} of {total}'
  const bar = new progress.SingleBar({
    format: process.stderr.isTTY ? `[{bar}] ${numbers} | {eta_formatted} left` : numbers,
    formatValue: (value, _options, type) => (type === 'percentage' ? String(value) : value.toLocaleString('en-US')),
    stream: process.stderr,
    noTTYOutput: true,
    clearOnComplete: !process.stderr.isTTY,
    notTTYSchedule: 5_000,
  })
  bar.start(head, 0)
  return { update: (position) => bar.update(position), stop: () => bar.stop() }
}

/** In milliseconds: what takes no longer needs no bar. */
const unseen = 1_000

/** The same, but nothing where it is over within a second. */
export const lateProgressBar = (head: number): ProgressBar => {
  let at = 0
  let bar: ProgressBar | undefined
  const timer = setTimeout(() => {
    bar = progressBar(head)
    bar.update(at)
  }, unseen)
  return {
    update: (position) => {
      at = position
      bar?.update(position)
    },
    stop: () => {
      clearTimeout(timer)
      bar?.stop()
    },
  }
}

/** Says a sentence on standard error, where a bar may stand on its line. */
export const sayBesideBar = (sentence: string): void => {
  process.stderr.write(`${process.stderr.isTTY ? '\n' : ''}${sentence}\n`)
}
