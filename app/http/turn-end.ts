let end: Promise<void> | undefined

/**
 * The end of the current turn of the event loop: one promise for all who ask within it. Answers that wait for it go out
 * together, so that a proxy or a client on the same machine is woken once, and not between two of them, for which it
 * would take the processor from here (`test/bench/README.md` has the figures).
 */
export const turnEnd = (): Promise<void> => {
  end ??= new Promise<void>((resolve) => {
    setImmediate(() => {
      end = undefined
      resolve()
    })
  })
  return end
}
